package interference

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The shipped model predicts unseen sets of a few invented mixes. The benchmark judges it by its goals, on more of them and on
// measured sets.
func TestSynthetic_PredictsUnseenSets(t *testing.T) {
	var cases []Case
	for seed := range uint64(60) {
		some, err := Synthetic(seed + 1)
		require.NoError(t, err)
		cases = append(cases, some...)
	}
	for _, size := range []int{2, 3} {
		some := ofSize(cases, size)
		t.Logf("%d jobs: %d cases, median error %.3f (prior %.3f), covered %.3f", size, len(some), median(some, Case.Error), median(some, Case.PriorError), covered(some))
		require.Less(t, median(some, Case.Error), 0.15)
		require.InDelta(t, 0.8, covered(some), 0.1)
	}
}
