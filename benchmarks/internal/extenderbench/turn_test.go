package extenderbench

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheCalmestTurnCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		stolen      []float64
		want, taken int // which one, of how many
	}{
		"calm at once":       {[]float64{0.3, 0.1}, 1, 1},
		"calm in the end":    {[]float64{7, 3, 0.9, 0.1}, 3, 3},
		"never calm":         {[]float64{7, 2, 9, 5}, 2, 4},
		"calm, but too late": {[]float64{7, 4, 9, 5, 0}, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			b, taken := &bench{Options: Options{Attempts: 4}}, 0
			best, all, err := b.calmest(func() (turn, error) {
				taken++ // a later one is slower: that must not matter
				return turn{times{time.Duration(taken)}, tc.stolen[taken-1]}, nil
			})
			require.NoError(t, err)
			require.Equal(t, turn{times{time.Duration(tc.want)}, tc.stolen[tc.want-1]}, best)
			require.Len(t, all, tc.taken)
		})
	}
	broken := errors.New("broken")
	_, _, err := (&bench{Options: Options{Attempts: 4}}).calmest(func() (turn, error) { return watched(func() (times, error) { return nil, broken }) })
	require.ErrorIs(t, err, broken)
}

func TestRoundsAreInterleaved(t *testing.T) {
	require.Equal(t, []int{0, 1, 2}, interleaved(3, 0))
	require.Equal(t, []int{2, 1, 0}, interleaved(3, 1))
}

func TestATailIsToldOfWhatCountsAndOfAll(t *testing.T) {
	const ms = time.Millisecond
	ours, null := turn{times{ms, ms, 2 * ms}, 0.5}, turn{times{4 * ms, 4 * ms, 4 * ms}, 0}
	restless, other := turn{times{ms, ms, 9 * ms}, 7}, turn{times{4 * ms, 4 * ms, 8 * ms}, 3}
	var s Service
	s.conclude([][]turn{{ours}, {null}}, [][]turn{{restless, ours}, {other, null}})
	require.Equal(t, Service{
		Ours: []float64{1}, Null: []float64{4}, Ratios: []float64{0.25}, Stolen: []float64{0.5}, Taken: 2,
		Tail: 2, NullTail: 1, AllTail: 9, AllNullTail: 2,
	}, s)
}
