package memoryprofile

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/goodput"
)

// Twice is the memory at a batch size that was not measured, at most twice the largest that was. Values are in KiB.
type Twice struct {
	Kind string
	// Measured is the number of sizes that were measured.
	Measured        int
	True, Predicted float64
}

// Below is the part by which the prediction is too small, in per cent; 0 if it is not.
func (t Twice) Below() float64 { return max(0, 100*(1-t.Predicted/t.True)) }

// Error is the absolute error, in per cent.
func (t Twice) Error() float64 { return 100 * math.Abs(t.Predicted/t.True-1) }

// twiceTheSize lets each kind of job go through its sizes upwards, as on a node, and predicts the next one each time.
func twiceTheSize(all []Recording) (cases []Twice) {
	var kinds []string
	allocated := map[string]map[int]int{}
	for _, r := range all {
		if allocated[r.Kind] == nil {
			kinds = append(kinds, r.Kind)
			allocated[r.Kind] = map[int]int{}
		}
		allocated[r.Kind][r.Batch] = r.Allocated
	}
	for _, kind := range kinds {
		cases = append(cases, climb(kind, allocated[kind])...)
	}
	return cases
}

// climb predicts the memory of each size from all smaller ones. A unit of the state's memory is a KiB here.
func climb(kind string, allocated map[int]int) (cases []Twice) {
	var sizes []int
	for size := range allocated {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	state := goodput.State{
		Range:       goodput.Range{Default: sizes[0], Min: sizes[0], Max: sizes[len(sizes)-1], Rule: goodput.Unchanged},
		MemoryLimit: math.MaxInt32,
	}
	for n, next := range sizes {
		values := state.Values() // none before the first measurement
		at := slices.IndexFunc(values, func(v goodput.Value) bool { return v.Batch == next })
		if at >= 0 && next <= 2*sizes[n-1] {
			cases = append(cases, Twice{Kind: kind, Measured: n, True: float64(allocated[next]), Predicted: float64(values[at].Memory)})
		}
		state = state.Observe(next, 1, growth.MiB(allocated[next]))
	}
	return cases
}
