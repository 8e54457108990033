package slice_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

// second returns the time n seconds after 1970.
func second(n int) time.Time { return time.Unix(int64(n), 0) }

func free(units map[growth.GPU]int) []string {
	var ids []string
	for gpu, n := range units {
		ids = append(ids, slice.IDs(gpu, n)...)
	}
	return ids
}

func demand(pod string, created, units int, on ...growth.GPU) slice.Demand {
	return slice.Demand{
		Pod:       growth.PodUID(pod),
		Container: "main",
		Created:   second(created),
		Units:     units,
		Count:     max(len(on), 1),
		GPUs:      on,
	}
}

// chooseCase is one case of testChoose.
type chooseCase struct {
	free    map[growth.GPU]int
	must    []string
	size    int
	demands []slice.Demand
	want    map[growth.GPU]int
}

func testChoose(t *testing.T, cases map[string]chooseCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := slice.Choose(slice.Request{Available: free(tc.free), MustInclude: tc.must, Size: tc.size},
				tc.demands)
			require.Equal(t, tc.want, unitsByGPU(t, got))
			for _, id := range tc.must {
				require.Contains(t, got, id)
			}
		})
	}
}

func TestChoose_Reservations(t *testing.T) {
	testChoose(t, map[string]chooseCase{
		"the GPU reserved for a pod of that size": {
			free: map[growth.GPU]int{"A": 24, "B": 24}, size: 8,
			demands: []slice.Demand{demand("p", 1, 8, "B")},
			want:    map[growth.GPU]int{"B": 8},
		},
		"the older of two pods comes first": {
			free: map[growth.GPU]int{"A": 24, "B": 24}, size: 8,
			demands: []slice.Demand{demand("young", 2, 8, "A"), demand("old", 1, 8, "B")},
			want:    map[growth.GPU]int{"B": 8},
		},
		"pods created in the same second are ordered by UID": {
			free: map[growth.GPU]int{"A": 24, "B": 24}, size: 8,
			demands: []slice.Demand{demand("q", 1, 8, "A"), demand("p", 1, 8, "B")},
			want:    map[growth.GPU]int{"B": 8},
		},
	})
}

func TestChoose_ReservedRoom(t *testing.T) {
	testChoose(t, map[string]chooseCase{
		"no demand takes the tightest fit": {
			free: map[growth.GPU]int{"A": 24, "B": 9, "C": 7}, size: 8,
			want: map[growth.GPU]int{"B": 8},
		},
		"the tightest fit leaves reserved room alone": {
			free: map[growth.GPU]int{"A": 24, "B": 9}, size: 8,
			demands: []slice.Demand{demand("p", 1, 5, "B")},
			want:    map[growth.GPU]int{"A": 8},
		},
		"without unreserved room the least reserved room is taken": {
			free: map[growth.GPU]int{"A": 10, "B": 9}, size: 8,
			demands: []slice.Demand{demand("p", 1, 5, "A"), demand("q", 1, 9, "B")},
			want:    map[growth.GPU]int{"A": 8},
		},
		"a full reserved GPU leads to the tightest fit": {
			free: map[growth.GPU]int{"A": 24, "B": 3}, size: 8,
			demands: []slice.Demand{demand("p", 1, 8, "B")},
			want:    map[growth.GPU]int{"A": 8},
		},
		"other pods took the reserved GPU and unreserved room is left": {
			free: map[growth.GPU]int{"A": 10, "B": 8}, size: 8,
			demands: []slice.Demand{demand("p", 1, 8, "A"), demand("q", 2, 7, "A")},
			want:    map[growth.GPU]int{"B": 8},
		},
		"other pods took the reserved GPU and no other room is left": {
			free: map[growth.GPU]int{"A": 10, "B": 7}, size: 8,
			demands: []slice.Demand{demand("p", 1, 8, "A"), demand("q", 2, 7, "A")},
			want:    map[growth.GPU]int{"A": 8},
		},
	})
}

func TestChoose_SeveralGPUs(t *testing.T) {
	testChoose(t, map[string]chooseCase{
		"both reserved GPUs get equal parts": {
			free: map[growth.GPU]int{"A": 24, "B": 24, "C": 24}, size: 8,
			demands: []slice.Demand{demand("p", 1, 8, "A", "C")},
			want:    map[growth.GPU]int{"A": 4, "C": 4},
		},
		"a demand for two GPUs without a reservation": {
			free: map[growth.GPU]int{"A": 24, "B": 5, "C": 6, "D": 3}, size: 8,
			demands: []slice.Demand{{Pod: "p", Units: 8, Count: 2}},
			want:    map[growth.GPU]int{"B": 4, "C": 4},
		},
	})
}

func TestChoose_Containers(t *testing.T) {
	testChoose(t, map[string]chooseCase{
		"later containers of the pod need room on the same GPU": {
			free: map[growth.GPU]int{"A": 6, "B": 4}, size: 4,
			demands: []slice.Demand{{
				Pod:   "p",
				Units: 4,
				Count: 1,
				Room:  6,
			}},
			want: map[growth.GPU]int{"A": 4},
		},
		"the ids of an init container are reused": {
			free: map[growth.GPU]int{"A": 24, "B": 9}, size: 8, must: []string{"A/7", "A/3"},
			want: map[growth.GPU]int{"A": 8},
		},
		"an init container reserves nothing": {
			free: map[growth.GPU]int{"A": 24, "B": 9}, size: 8,
			demands: []slice.Demand{{
				Pod:   "p",
				Units: 9,
				Count: 1,
				GPUs:  []growth.GPU{"B"},
				Init:  true,
			}},
			want: map[growth.GPU]int{"B": 8},
		},
	})
}

func TestChoose_Limits(t *testing.T) {
	testChoose(t, map[string]chooseCase{
		"if no choice is valid, as few GPUs as possible": {
			free: map[growth.GPU]int{"A": 3, "B": 4, "C": 5}, size: 8,
			want: map[growth.GPU]int{"B": 3, "C": 5},
		},
		"all ids if fewer are available": {
			free: map[growth.GPU]int{"A": 1, "B": 2}, size: 8,
			want: map[growth.GPU]int{"A": 1, "B": 2},
		},
		"a request for nothing": {free: map[growth.GPU]int{"A": 1}, size: 0, want: map[growth.GPU]int{}},
		"a reservation that names a GPU twice": {
			free: map[growth.GPU]int{"A": 8}, size: 8,
			demands: []slice.Demand{demand("p", 1, 8, "A", "A")},
			want:    map[growth.GPU]int{"A": 8},
		},
	})
}

func TestMatchAllocation(t *testing.T) {
	demands := []slice.Demand{demand("a", 1, 4, "A"), demand("b", 2, 4, "B"), demand("c", 3, 8, "A", "B")}
	for name, tc := range map[string]struct {
		parts []slice.Part
		want  growth.PodUID
	}{
		"the demand with a reservation there":     {[]slice.Part{{GPU: "B", Units: 4}}, "b"},
		"otherwise the first demand of that size": {[]slice.Part{{GPU: "C", Units: 4}}, "a"},
		"both GPUs of a demand for two":           {[]slice.Part{{GPU: "A", Units: 4}, {GPU: "B", Units: 4}}, "c"},
		"no demand of that size":                  {[]slice.Part{{GPU: "A", Units: 5}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, ok := slice.MatchAllocation(tc.parts, demands)
			require.Equal(t, tc.want, d.Pod)
			require.Equal(t, tc.want != "", ok)
		})
	}
}

// TestChoose_MatchesReference compares Choose with a simple implementation that scores every GPU.
func TestChoose_MatchesReference(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		gpus := []growth.GPU{"A", "B", "C", "D"}[:1+random.IntN(4)]
		units := map[growth.GPU]int{}
		for _, gpu := range gpus {
			units[gpu] = random.IntN(10)
		}
		var demands []slice.Demand
		for i := range random.IntN(4) {
			d := demand(fmt.Sprint(random.IntN(3), i), random.IntN(3), 1+random.IntN(6))
			if random.IntN(3) > 0 {
				d.GPUs = []growth.GPU{gpus[random.IntN(len(gpus))]}
			}
			demands = append(demands, d)
		}
		size := 1 + random.IntN(8)
		got := unitsByGPU(t, slice.Choose(slice.Request{Available: free(units), Size: size}, demands))
		want, oneGPU := reference(units, size, demands)
		if oneGPU {
			require.Equal(t, map[growth.GPU]int{want: size}, got, "%v %d %+v", units, size, demands)
		} else {
			for _, n := range got {
				require.Less(t, n, size, "one GPU is sufficient")
			}
		}
	}
}

// reference chooses a GPU for demands on single GPUs, and reports whether one GPU is sufficient.
func reference(units map[growth.GPU]int, size int, demands []slice.Demand) (growth.GPU, bool) {
	var mine *slice.Demand
	for i, d := range demands {
		older := mine == nil ||
			cmp.Or(d.Created.Compare(mine.Created), strings.Compare(string(d.Pod), string(mine.Pod))) < 0
		if d.Units == size && older {
			mine = &demands[i]
		}
	}
	var planned growth.GPU
	if mine != nil && len(mine.GPUs) == 1 && units[mine.GPUs[0]] >= size {
		planned = mine.GPUs[0]
	}
	var best growth.GPU
	bestWaste := 0
	found := false
	for _, gpu := range []growth.GPU{"A", "B", "C", "D"} {
		if units[gpu] < size {
			continue
		}
		left := units[gpu] - size
		for i, d := range demands {
			if &demands[i] != mine && len(d.GPUs) == 1 && d.GPUs[0] == gpu {
				left -= d.Units
			}
		}
		waste := left
		switch {
		case left >= 0 && gpu == planned:
			waste = -1
		case left < 0 && gpu == planned:
			waste = 1_000_000
		case left < 0:
			waste = 2_000_000 - left
		}
		if !found || waste < bestWaste {
			best = gpu
			bestWaste = waste
			found = true
		}
	}
	return best, found
}

func FuzzChoose(f *testing.F) {
	f.Add("A/0 A/1 B/0", "A/1", 2, "p A 2 1")
	f.Add("A/0 A/0 x / //", "zz A/0", -3, "p  2 0 q B 1 9")
	f.Add("", "", 1<<30, "")
	f.Fuzz(func(t *testing.T, available, must string, size int, requests string) {
		r := slice.Request{Available: strings.Fields(available), MustInclude: strings.Fields(must), Size: size}
		var demands []slice.Demand
		for word := range strings.FieldsSeq(requests) {
			demands = append(demands, slice.Demand{
				Pod:   growth.PodUID(word),
				Units: len(word),
				Count: len(demands),
				GPUs:  []growth.GPU{growth.GPU(word), growth.GPU(available), "A"}[:len(demands)%4],
			})
		}
		got := slice.Choose(r, demands)
		distinct := map[string]struct{}{}
		for _, id := range got {
			require.Contains(t, r.Available, id, "an id that is not available")
			require.NotContains(t, distinct, id, "an id twice")
			distinct[id] = struct{}{}
		}
		all := slices.Compact(slices.Sorted(slices.Values(r.Available)))
		require.Len(t, got, min(max(size, 0), len(all)))
		for _, id := range r.MustInclude {
			if slices.Contains(r.Available, id) && len(r.MustInclude) <= size {
				require.Contains(t, got, id, "an id that must be included")
			}
		}
	})
}

func unitsByGPU(t *testing.T, ids []string) map[growth.GPU]int {
	t.Helper()
	parts, err := slice.Spread(ids)
	require.NoError(t, err)
	sum := map[growth.GPU]int{}
	for _, p := range parts {
		sum[p.GPU] = p.Units
	}
	return sum
}
