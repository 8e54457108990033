package fastpath

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIndex_MatchesReference applies random batches of changes to an Index and to a map, and compares all of them again
// when they are old. No two values ever share a slot and a version.
func TestIndex_MatchesReference(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		var indexes []Index[string, int]
		var references []referenceMap[*int]
		index, reference := Index[string, int]{}, referenceMap[*int]{}
		seen := map[Slot]*int{}
		for range 60 {
			indexes, references = append(indexes, index), append(references, reference)
			removals := random.IntN(4) // few, or most: then the Index is compacted
			values := map[string]*int{}
			var changed []string
			for range random.IntN(80) {
				name := strconv.Itoa(random.IntN(400))
				changed = append(changed, name)
				values[name] = nil
				if random.IntN(4) >= removals {
					values[name] = new(int)
				}
			}
			before := index.Versions()
			index = index.With(slices.Values(changed), func(name string) *int { return values[name] })
			reference = reference.with(changed, func(name string) (*int, bool) { return values[name], values[name] != nil })
			require.GreaterOrEqual(t, index.Versions(), before)
			for name, value := range reference {
				entry := index.Get(name)
				earlier, known := seen[entry.Slot]
				require.True(t, !known || earlier == value, "a cached verdict on one value would be used for another one")
				seen[entry.Slot] = value
				require.Less(t, entry.Number, index.Slots())
			}
		}
		for i := range indexes {
			compareIndex(t, references[i], indexes[i])
		}
	}
}

// compareIndex looks up all names and names that do not exist.
func compareIndex(t *testing.T, want referenceMap[*int], got Index[string, int]) {
	t.Helper()
	require.Equal(t, map[string]*int(want), maps.Collect(got.All()))
	require.Equal(t, len(want), got.Len())
	names := slices.Collect(maps.Keys(want))
	for n := range 400 {
		names = append(names, strconv.Itoa(n))
	}
	for _, name := range names {
		require.Same(t, want[name], got.Get(name).Value)
	}
}

// TestIndex_ReadsDuringWrites is for the race detector.
func TestIndex_ReadsDuringWrites(t *testing.T) {
	var wg sync.WaitGroup
	defer wg.Wait()
	index := Index[string, int]{}
	for i := range 300 {
		changed := []string{strconv.Itoa(i), "0"}
		index = index.With(slices.Values(changed), func(string) *int { return new(int) })
		if old := index; i%10 == 0 {
			wg.Go(func() {
				for n := range 300 {
					if known := old.Get(strconv.Itoa(n)).Value != nil; known != (n <= i) {
						t.Errorf("an index of %d names, name %d: %v", i+1, n, known)
					}
				}
			})
		}
	}
}

func TestIndex_ZeroValueIsEmpty(t *testing.T) {
	var none Index[string, int]
	require.Nil(t, none.Get("a").Value)
	require.Empty(t, maps.Collect(none.All()))
	emptied := none.With(slices.Values([]string{"a"}), func(string) *int { return nil })
	require.Zero(t, emptied.Len())
}
