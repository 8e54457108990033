package extenderbench

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWaitUntilIdle_WaitsForIdlePrograms(t *testing.T) {
	for name, tc := range map[string]struct {
		busy, want time.Duration
	}{
		"idle":                {0, time.Second},
		"busy for a while":    {10 * time.Second, 11 * time.Second},
		"never idle":          {time.Hour, maxIdleWait},
		"idle between checks": {1500 * time.Millisecond, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				computed := func() time.Duration { return min(time.Since(start), tc.busy) }
				require.NoError(t, waitUntilIdle(t.Context(), computed))
				require.Equal(t, tc.want, time.Since(start))
			})
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, waitUntilIdle(ctx, func() time.Duration { return 0 }), context.Canceled)
}
