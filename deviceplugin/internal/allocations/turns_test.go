package allocations

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAListWaitsWhileKubeletAllocates(t *testing.T) {
	for name, tc := range map[string]struct {
		kubelet func(turns *turns)
		waits   time.Duration
	}{
		"kubelet allocates nothing": {func(*turns) {}, 0},
		"it wrote down what it allocated": {func(turns *turns) {
			turns.allocating(context.Background())
			turns.allocated()
		}, bookedWithin},
		"it asked, and never allocated":  {func(turns *turns) { turns.allocating(context.Background()) }, admissionWithin},
		"it allocates for pod after pod": {func(turns *turns) { go busily(turns) }, listWithin},
		"it takes its time, and is through": {func(turns *turns) {
			turns.allocating(context.Background())
			time.AfterFunc(45*time.Millisecond, turns.allocated)
		}, 45*time.Millisecond + bookedWithin},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var turns turns
				tc.kubelet(&turns)
				synctest.Wait()
				began := time.Now()
				done, err := turns.list(t.Context())
				require.NoError(t, err)
				require.Equal(t, tc.waits, time.Since(began))
				done()
				time.Sleep(time.Minute) // kubelet comes to an end
			})
		})
	}
}

// busily allocates without a pause for longer than a list waits.
func busily(turns *turns) {
	for range 500 {
		turns.allocating(context.Background())
		time.Sleep(3 * time.Millisecond)
	}
}

func TestKubeletWaitsForAListThatIsUnderway(t *testing.T) {
	for name, tc := range map[string]struct{ takes, waits time.Duration }{
		"a short one":             {20 * time.Millisecond, 20 * time.Millisecond},
		"one that does not end":   {time.Hour, listWithin},
		"one that is through now": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var turns turns
				done, err := turns.list(t.Context())
				require.NoError(t, err)
				go func() {
					time.Sleep(tc.takes)
					done()
				}()
				synctest.Wait()
				began := time.Now()
				turns.allocating(t.Context())
				require.Equal(t, tc.waits, time.Since(began))
				time.Sleep(tc.takes)
			})
		})
	}
}

func TestAListThatIsNotWantedAnyMoreLeavesTheNextOneItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		turns.allocating(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := turns.list(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		done, err := turns.list(t.Context())
		require.NoError(t, err)
		done()
	})
}
