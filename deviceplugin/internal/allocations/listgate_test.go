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
		"no allocation": {func(*listGate) {}, 0},
		"the allocation has ended": {func(gate *listGate) {
			gate.beginAllocate(context.Background())
			gate.endAllocate()
		}, checkpointDelay},
		"a preference without an allocation": {func(gate *listGate) {
			gate.beginAllocate(context.Background())
		}, admissionTimeout},
		"allocations without a pause": {func(gate *listGate) { go allocateWithoutPause(gate) }, listTimeout},
		"an allocation that ends later": {func(gate *listGate) {
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
				time.Sleep(time.Minute) // wait for the allocations to end
			})
		})
	}
}

// allocateWithoutPause allocates for longer than a List request waits.
func allocateWithoutPause(gate *listGate) {
	for range 500 {
		gate.beginAllocate(context.Background())
		time.Sleep(3 * time.Millisecond)
	}
}

func TestListGate_AllocationWaitsForList(t *testing.T) {
	for name, tc := range map[string]struct{ takes, waits time.Duration }{
		"a short List request":             {20 * time.Millisecond, 20 * time.Millisecond},
		"a List request that does not end": {time.Hour, listTimeout},
		"a List request that ends at once": {0, 0},
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
