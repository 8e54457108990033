package extenderbench

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCalmestMeasurementCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		stolen []float64
		want   int // which one
	}{
		"calm at once":       {[]float64{0.3, 0.1}, 1},
		"calm in the end":    {[]float64{7, 3, 0.9, 0.1}, 3},
		"never calm":         {[]float64{7, 2, 9, 5}, 2},
		"calm, but too late": {[]float64{7, 4, 9, 5, 0}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b, asked := &bench{Options: Options{Out: io.Discard, Attempts: 4}}, 0
			best, err := b.calmest(func() (Service, error) {
				asked++
				return Service{Stolen: tc.stolen[asked-1], Tail: 100 - tc.stolen[asked-1]}, nil
			})
			require.NoError(t, err)
			require.Equal(t, tc.want, best.Attempt)
		})
	}
	broken := errors.New("broken")
	_, err := (&bench{Options: Options{Attempts: 4}}).calmest(func() (Service, error) { return Service{}, broken })
	require.ErrorIs(t, err, broken)
}
