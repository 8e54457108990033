package extenderbench

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRested_WaitsForIdlePrograms(t *testing.T) {
	for name, tc := range map[string]struct {
		busy, want time.Duration
	}{
		"at rest":             {0, time.Second},
		"busy for a while":    {10 * time.Second, 11 * time.Second},
		"never, as it seems":  {time.Hour, restWithin},
		"busy until a moment": {1500 * time.Millisecond, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				computed := func() time.Duration { return min(time.Since(began), tc.busy) }
				require.NoError(t, rested(t.Context(), computed))
				require.Equal(t, tc.want, time.Since(began))
			})
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, rested(ctx, func() time.Duration { return 0 }), context.Canceled)
}
