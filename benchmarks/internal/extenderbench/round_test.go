package extenderbench

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheCalmestRoundCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		stolen      []float64
		want, asked int // which one, of how many
	}{
		"calm at once":       {[]float64{0.3, 0.1}, 1, 1},
		"calm in the end":    {[]float64{7, 3, 0.9, 0.1}, 3, 3},
		"never calm":         {[]float64{7, 2, 9, 5}, 2, 4},
		"calm, but too late": {[]float64{7, 4, 9, 5, 0}, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			b, asked := &bench{Options: Options{Attempts: 4}}, 0
			best, all, err := b.calmest(func() (round, error) {
				asked++ // a later one is slower: that must not matter
				return round{turns: []times{{time.Duration(asked)}}, stolen: tc.stolen[asked-1]}, nil
			})
			require.NoError(t, err)
			require.Equal(t, time.Duration(tc.want), best.turns[0][0])
			require.Len(t, all, tc.asked)
		})
	}
	broken := errors.New("broken")
	_, _, err := (&bench{Options: Options{Attempts: 4}}).calmest(func() (round, error) { return round{}, broken })
	require.ErrorIs(t, err, broken)
}

func TestARoundIsATurnOfEach(t *testing.T) {
	var order []int
	r, err := askRound(1, 2, func(who int) (times, error) {
		order = append(order, who)
		return times{time.Duration(who)}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, order)
	require.Equal(t, []times{{0}, {1}}, r.turns)
	broken := errors.New("broken")
	_, err = askRound(0, 2, func(int) (times, error) { return nil, broken })
	require.ErrorIs(t, err, broken)
}

func TestRoundsAreInterleaved(t *testing.T) {
	require.Equal(t, []int{0, 1, 2}, interleaved(3, 0))
	require.Equal(t, []int{2, 1, 0}, interleaved(3, 1))
}

func TestATailIsToldOfWhatCountsAndOfAll(t *testing.T) {
	calm := round{turns: []times{{1e6, 1e6, 2e6}, {4e6, 4e6, 4e6}}, stolen: 0.5}
	restless := round{turns: []times{{1e6, 1e6, 9e6}, {4e6, 4e6, 8e6}}, stolen: 7}
	var s Service
	s.conclude([]round{calm}, []round{restless, calm})
	require.Equal(t, Service{
		Ours: []float64{1}, Null: []float64{4}, Ratios: []float64{0.25}, Stolen: []float64{0.5}, Asked: 2,
		Tail: 2, NullTail: 1, AllTail: 9, AllNullTail: 2,
	}, s)
}
