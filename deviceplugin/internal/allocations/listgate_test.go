package allocations

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestListGate_ListWaitsForAllocation(t *testing.T) {
	for name, tc := range map[string]struct {
		kubelet func(gate *listGate)
		waits   time.Duration
	}{
		"kubelet allocates nothing": {func(*listGate) {}, 0},
		"it wrote down what it allocated": {func(gate *listGate) {
			gate.beginAllocate(context.Background())
			gate.endAllocate()
		}, checkpointDelay},
		"it asked, and never allocated":  {func(gate *listGate) { gate.beginAllocate(context.Background()) }, admissionTimeout},
		"it allocates for pod after pod": {func(gate *listGate) { go allocateWithoutPause(gate) }, listTimeout},
		"it takes its time, and is through": {func(gate *listGate) {
			gate.beginAllocate(context.Background())
			time.AfterFunc(45*time.Millisecond, gate.endAllocate)
		}, 45*time.Millisecond + checkpointDelay},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var gate listGate
				tc.kubelet(&gate)
				synctest.Wait()
				start := time.Now()
				done, err := gate.beginList(t.Context())
				require.NoError(t, err)
				require.Equal(t, tc.waits, time.Since(start))
				done()
				time.Sleep(time.Minute) // kubelet comes to an end
			})
		})
	}
}

// allocateWithoutPause allocates without a pause for longer than a list waits.
func allocateWithoutPause(gate *listGate) {
	for range 500 {
		gate.beginAllocate(context.Background())
		time.Sleep(3 * time.Millisecond)
	}
}

func TestListGate_AllocationWaitsForList(t *testing.T) {
	for name, tc := range map[string]struct{ takes, waits time.Duration }{
		"a short one":             {20 * time.Millisecond, 20 * time.Millisecond},
		"one that does not end":   {time.Hour, listTimeout},
		"one that is through now": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var gate listGate
				done, err := gate.beginList(t.Context())
				require.NoError(t, err)
				go func() {
					time.Sleep(tc.takes)
					done()
				}()
				synctest.Wait()
				start := time.Now()
				gate.beginAllocate(t.Context())
				require.Equal(t, tc.waits, time.Since(start))
				time.Sleep(tc.takes)
			})
		})
	}
}

func TestListGate_CancelledListLetsTheNextOneStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gate listGate
		gate.beginAllocate(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := gate.beginList(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		done, err := gate.beginList(t.Context())
		require.NoError(t, err)
		done()
	})
}
