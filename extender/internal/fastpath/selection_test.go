package fastpath

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSelection_MatchesReference(t *testing.T) {
	all := []string{"a", "b", "c", "d"}
	index := Index[string, int]{}.With(slices.Values(all), func(string) *int { return new(int) })
	selections := [][]string{
		{}, all, {"a", "c"}, {"b"}, {"x", "a"}, {"a", "b", "x", "d"}, {"d", "c", "b", "a"}, {"a", "a"},
	}
	random := rand.New(rand.NewPCG(1, 0))
	for range 200 {
		var names []string
		for range random.IntN(8) {
			names = append(names, []string{"a", "b", "c", "d", "x", "y"}[random.IntN(6)])
		}
		selections = append(selections, names)
	}
	for _, names := range selections {
		var want referenceSelection
		got := index.Select()
		for _, name := range names {
			entry := index.Get(name)
			got.Append(name, entry)
			want.names, want.values = append(want.names, name), append(want.values, entry.Value)
		}
		require.Equal(t, len(want.names), got.Len())
		for i := range want.names {
			require.Equal(t, want.names[i], got.Name(i))
			require.Same(t, want.values[i], got.Value(i))
		}
	}
}
