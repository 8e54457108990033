package interference

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Four fifths of four measurements and one more are all four, in any order of their weights.
func TestScale_OfFourMeasurementsIsByTheFarthest(t *testing.T) {
	fits := make([]*fit, folds)
	for n := range fits {
		fits[n] = newFit(Prior(), nil, nil)
	}
	all := func(entry) bool { return true }
	var entries []entry
	for n, excess := range []float64{0.3, 0.31, 0.35, 2.5} {
		entries = append(entries, entry{own: Kind(rune('a' + n)), others: []Kind{"x"}, mean: excess, variance: 0.001 * float64(n+1), weight: 1})
	}
	require.Equal(t, 1.0, scale(fits, entries[1:], all), "three say nothing")
	want := scale(fits, entries, all)
	require.Greater(t, want, 1.5)
	for range entries {
		entries = append(slices.Clone(entries[1:]), entries[0])
		require.Equal(t, want, scale(fits, entries, all))
	}
}
