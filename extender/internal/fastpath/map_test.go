package fastpath

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMap_MatchesReference applies random batches of changes to a Map and to Go's own, and compares all of them again when
// they are old.
func TestMap_MatchesReference(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		var all []Map[string, int]
		var references []referenceMap[int]
		m, reference := Map[string, int]{}, referenceMap[int]{}
		for range 50 {
			all, references = append(all, m), append(references, reference)
			values := map[string]int{}
			var changed []string
			for range random.IntN(40) {
				key := strconv.Itoa(random.IntN(300))
				changed = append(changed, key)
				delete(values, key)
				if random.IntN(3) > 0 {
					values[key] = random.Int()
				}
			}
			current := func(key string) (int, bool) { value, ok := values[key]; return value, ok }
			m, reference = m.With(slices.Values(changed), current), reference.with(changed, current)
		}
		for i := range all {
			require.Equal(t, map[string]int(references[i]), maps.Collect(all[i].All()))
			require.Equal(t, len(references[i]), all[i].Len())
			for key := range 300 {
				want, present := references[i][strconv.Itoa(key)]
				got, found := all[i].Get(strconv.Itoa(key))
				require.Equal(t, present, found)
				require.Equal(t, want, got)
			}
		}
	}
}

func TestMap_ZeroValueIsEmpty(t *testing.T) {
	var none Map[string, int]
	_, found := none.Get("a")
	require.False(t, found)
	require.Empty(t, maps.Collect(none.All()))
	emptied := none.With(slices.Values([]string{"a"}), func(string) (int, bool) { return 0, false })
	require.Zero(t, emptied.Len())
}
