package cache

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTableIsAMapThatNeverChanges applies random batches of changes to a table and to its dumb twin, Go's own map, and
// looks at all tables again when they are old.
func TestTableIsAMapThatNeverChanges(t *testing.T) {
	for seed := range uint64(20) {
		dice := rand.New(rand.NewPCG(seed, 0))
		var tables []Table[string, int]
		var twins []map[string]int
		table, twin := Table[string, int]{}, map[string]int{}
		for range 50 {
			tables, twins = append(tables, table), append(twins, maps.Clone(twin))
			var changed []string
			for range dice.IntN(40) {
				key := strconv.Itoa(dice.IntN(300))
				changed = append(changed, key)
				if dice.IntN(3) == 0 {
					delete(twin, key)
					continue
				}
				twin[key] = dice.Int()
			}
			table = table.With(slices.Values(changed), func(key string) (int, bool) { value, ok := twin[key]; return value, ok })
		}
		for i := range tables {
			require.Equal(t, twins[i], maps.Collect(tables[i].All()))
			require.Equal(t, len(twins[i]), tables[i].Len())
			for key := range 300 {
				want, present := twins[i][strconv.Itoa(key)]
				got, found := tables[i].Get(strconv.Itoa(key))
				require.Equal(t, present, found)
				require.Equal(t, want, got)
			}
		}
	}
}

func TestTheZeroTableIsEmpty(t *testing.T) {
	var none Table[string, int]
	_, found := none.Get("a")
	require.False(t, found)
	require.Empty(t, maps.Collect(none.All()))
	emptied := none.With(slices.Values([]string{"a"}), func(string) (int, bool) { return 0, false })
	require.Zero(t, emptied.Len())
}
