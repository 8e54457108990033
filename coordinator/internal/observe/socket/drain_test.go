package socket_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
)

// rarely are limits with which no message arrives by itself during a test, but the first of a connection.
func rarely() socket.Limits {
	limits := socket.DefaultLimits
	limits.PollPeriod = time.Hour
	return limits
}

func TestServer_DrainReadsAtOnce(t *testing.T) {
	for name, closes := range map[string]bool{"the job runs": false, "the job has ended": true} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, rarely(), "one", "two")
			one, two := h.dial(t, "one"), h.dial(t, "two")
			for _, job := range []interface{ Write([]byte) (int, error) }{one, two} {
				_, err := job.Write([]byte(progress(1)))
				require.NoError(t, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			h.eventually(t, "connected", func() bool {
				h.server.Drain(ctx, "one")
				h.server.Drain(ctx, "two")
				return len(h.steps("one")) == 1 && len(h.steps("two")) == 1
			})
			_, err := one.Write([]byte(progress(2) + progress(3)))
			require.NoError(t, err)
			_, err = two.Write([]byte(progress(2)))
			require.NoError(t, err)
			if closes {
				require.NoError(t, one.Close())
			}
			h.server.Drain(ctx, "one")
			require.Equal(t, []int64{1, 2, 3}, h.steps("one"))
			require.Equal(t, []int64{1}, h.steps("two"), "other slots are read later")
			h.server.Drain(ctx, "one")
			h.server.Drain(ctx, "elsewhere")
			require.NoError(t, ctx.Err())
		})
	}
}

func TestServer_DrainHasABound(t *testing.T) {
	h := serve(t, rarely(), "one")
	h.mu.Lock() // no event is handled
	defer h.mu.Unlock()
	_, err := h.dial(t, "one").Write([]byte(progress(1)))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		h.server.Drain(ctx, "one")
		return ctx.Err() != nil
	}, patience, time.Millisecond, "it returns when the time is over")
}
