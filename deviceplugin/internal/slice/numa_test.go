package slice_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

// two returns a demand for eight units on two GPUs, four on each.
func two(on ...growth.GPU) slice.Demand {
	d := demand("p", 1, 8, on...)
	d.Count = 2
	return d
}

func TestChoose_SeveralGPUsOfOneNUMANode(t *testing.T) {
	numa := map[growth.GPU]int{"A": 0, "B": 1, "C": 0, "D": 1}
	for name, tc := range map[string]struct {
		free    map[growth.GPU]int
		must    []string
		demands []slice.Demand
		numa    map[growth.GPU]int
		want    map[growth.GPU]int
	}{
		"two GPUs of one node": {
			free:    map[growth.GPU]int{"A": 8, "B": 8, "C": 8, "D": 8},
			demands: []slice.Demand{two()}, numa: numa,
			want: map[growth.GPU]int{"A": 4, "C": 4},
		},
		"the node with the tighter fit": {
			free:    map[growth.GPU]int{"A": 8, "B": 4, "C": 8, "D": 5},
			demands: []slice.Demand{two()}, numa: numa,
			want: map[growth.GPU]int{"B": 4, "D": 4},
		},
		"a reservation on two nodes is followed": {
			free:    map[growth.GPU]int{"A": 8, "B": 8, "C": 8, "D": 8},
			demands: []slice.Demand{two("A", "D")}, numa: numa,
			want: map[growth.GPU]int{"A": 4, "D": 4},
		},
		"reserved room counts more than the node": {
			free:    map[growth.GPU]int{"A": 8, "B": 8, "C": 4},
			demands: []slice.Demand{two(), demand("later", 2, 3, "C")}, numa: numa,
			want: map[growth.GPU]int{"A": 4, "B": 4},
		},
		"two nodes if no node has room on two GPUs": {
			free:    map[growth.GPU]int{"A": 8, "B": 8, "C": 3, "D": 3},
			demands: []slice.Demand{two()}, numa: numa,
			want: map[growth.GPU]int{"A": 4, "B": 4},
		},
		"the node of ids that must be included": {
			free: map[growth.GPU]int{"A": 8, "B": 8, "C": 8, "D": 8}, must: []string{"D/7"},
			demands: []slice.Demand{two()}, numa: numa,
			want: map[growth.GPU]int{"B": 4, "D": 4},
		},
		"ids on both nodes must be included": {
			free: map[growth.GPU]int{"A": 8, "B": 8, "C": 8, "D": 8}, must: []string{"A/7", "D/7"},
			demands: []slice.Demand{two()}, numa: numa,
			want: map[growth.GPU]int{"A": 4, "D": 4},
		},
		"unknown nodes": {
			free:    map[growth.GPU]int{"A": 8, "B": 8, "C": 8},
			demands: []slice.Demand{two()},
			want:    map[growth.GPU]int{"A": 4, "B": 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := slice.Choose(
				slice.Request{Available: free(tc.free), MustInclude: tc.must, Size: 8, NUMA: tc.numa}, tc.demands)
			require.Equal(t, tc.want, unitsByGPU(t, got))
		})
	}
}
