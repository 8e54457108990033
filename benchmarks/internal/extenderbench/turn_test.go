package extenderbench

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCalmest_ReturnsTheCalmestTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		stolen      []float64 // per cent of the machine
		otherCPU    []float64 // parts of one core
		want, taken int       // which one, of how many
	}{
		"first turn is calm":                {[]float64{0.3, 0.1}, []float64{0.02, 0}, 1, 1},
		"third turn is calm":                {[]float64{7, 3, 0.9, 0.1}, make([]float64, 4), 3, 3},
		"never calm":                        {[]float64{7, 2, 9, 5}, make([]float64, 4), 2, 4},
		"calm after the last attempt":       {[]float64{7, 4, 9, 5, 0}, make([]float64, 5), 2, 4},
		"other programs were busy":          {[]float64{0, 0.5}, []float64{0.9, 0.1}, 2, 2},
		"a different disturbance each time": {[]float64{0, 3, 0, 9}, []float64{0.9, 0, 0.5, 0}, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, taken := &bench{Options: Options{Attempts: 4}}, 0
				best, all, err := b.calmest(t.Context(), func() (turn, error) {
					taken++ // later turns are slower, which must not matter
					return turn{times{time.Duration(taken)}, tc.stolen[taken-1], tc.otherCPU[taken-1]}, nil
				})
				require.NoError(t, err)
				require.Equal(t, turn{times{time.Duration(tc.want)}, tc.stolen[tc.want-1], tc.otherCPU[tc.want-1]}, best)
				require.Len(t, all, tc.taken)
			})
		})
	}
	broken := errors.New("broken")
	_, _, err := (&bench{Options: Options{Attempts: 4}}).calmest(t.Context(), func() (turn, error) { return measureTurn(noCPU, func() (times, error) { return nil, broken }) })
	require.ErrorIs(t, err, broken)
}

func TestCalmest_PausesBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, taken := time.Now(), 0
		passes := 8 * time.Second
		best, all, err := (&bench{Options: Options{Attempts: 12}}).calmest(t.Context(), func() (turn, error) {
			taken++
			return turn{stolen: max(0, (passes - time.Since(start)).Seconds())}, nil
		})
		require.NoError(t, err)
		require.Equal(t, 0.25, best.stolen)
		require.Len(t, all, 6, "at 0, 0.25, 0.75, 1.75, 3.75 and 7.75 s")
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err = (&bench{Options: Options{Attempts: 12}}).calmest(ctx, func() (turn, error) { cancel(); return turn{stolen: 2}, nil })
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestMeasureTurn_IncludesOtherPrograms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		half := func() time.Duration { return time.Minute + time.Since(start)/2 }
		turn, err := measureTurn(half, func() (times, error) { time.Sleep(time.Second); return times{1}, nil })
		require.NoError(t, err)
		require.Equal(t, times{1}, turn.took)
		require.Equal(t, 0.5, turn.otherCPU)
	})
}

func noCPU() time.Duration { return 0 }

func TestInterleaved(t *testing.T) {
	require.Equal(t, []int{0, 1, 2}, interleaved(3, 0))
	require.Equal(t, []int{2, 1, 0}, interleaved(3, 1))
}

func TestConclude_SeparatesCountedTurnsFromAll(t *testing.T) {
	const ms = time.Millisecond
	ours, null := turn{times{ms, ms, 2 * ms}, 0.5, 0.02}, turn{times{4 * ms, 4 * ms, 4 * ms}, 0, 0}
	disturbed, other := turn{times{ms, ms, 9 * ms}, 7, 0}, turn{times{4 * ms, 4 * ms, 8 * ms}, 3, 0}
	var s Service
	s.conclude([][]turn{{ours}, {null}}, [][]turn{{disturbed, ours}, {other, null}})
	require.Equal(t, Service{
		Ours: []float64{1}, Null: []float64{4}, Ratios: []float64{0.25}, Stolen: []float64{0.5}, Aside: []float64{2}, Taken: 2,
		Tail: 2, NullTail: 1, AllTail: 9, AllNullTail: 2,
	}, s)
}
