package slice_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

func TestFilter_RemovesLastIDs(t *testing.T) {
	for name, tc := range map[string]struct {
		held            slice.Withheld
		available, want []string
	}{
		"nothing is withheld":     {nil, []string{"A/1", "A/0"}, []string{"A/0", "A/1"}},
		"two of three ids":        {slice.Withheld{"A": 2}, []string{"A/9", "A/10", "A/2"}, []string{"A/2"}},
		"ids of another GPU":      {slice.Withheld{"B": 2}, []string{"A/0", "A/1"}, []string{"A/0", "A/1"}},
		"more than is available":  {slice.Withheld{"A": 9}, []string{"A/0", "B/0"}, []string{"B/0"}},
		"an id of another plugin": {slice.Withheld{"A": 1}, []string{"A_-_0", "A/0"}, []string{"A_-_0"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.held.Filter(tc.available)
			slices.Sort(got)
			require.Equal(t, tc.want, got)
		})
	}
}

// TestFilter_AgreesWithCovers allocates random units until none is left and checks that withheld ids stay unused.
func TestFilter_AgreesWithCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		const units = 24
		held := slice.Withheld{"A": random.IntN(units + 1)}
		free := slice.IDs("A", units)
		given := 0
		for {
			ids := slice.Choose(slice.Request{Available: held.Filter(free), Size: 1 + random.IntN(4)}, nil)
			if len(ids) == 0 {
				break
			}
			for _, id := range ids {
				require.False(t, held.Covers(id, units), id)
			}
			given += len(ids)
			free = slices.DeleteFunc(free, func(id string) bool { return slices.Contains(ids, id) })
		}
		require.Equal(t, units-held["A"], given)
	}
}

func TestHasForeign(t *testing.T) {
	gpu := growth.GPU("GPU-1")
	require.False(t, slice.HasForeign([]string{slice.ID(gpu, 0)}))
	require.True(t, slice.HasForeign([]string{slice.ID(gpu, 0), "GPU-1-_-0"}))
	require.False(t, slice.HasForeign(nil))
}
