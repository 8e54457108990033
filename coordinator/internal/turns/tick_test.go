package turns

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

// No event comes from a job that is alone, or from jobs that all compute. What they have held is charged all the same,
// however rarely it is read.
func TestRun_ChargesTimeWithoutEvents(t *testing.T) {
	for name, jobs := range map[string]int{"a job that is alone": 1, "an open group": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := freezingServer(t, newFakeFreezer())
				ctx, cancel := context.WithCancel(t.Context())
				go func() { _ = s.Run(ctx) }()
				s.Plan(planned(jobs > 1, threeToOne, []growth.PodUID{"a", "b"}[:jobs]...))
				time.Sleep(time.Hour) // the longest interval of the coordinator
				for _, used := range s.Use() {
					require.InDelta(t, time.Hour.Seconds(), float64(used.Held), 1)
				}
				cancel()
				s.Shutdown()
			})
		})
	}
}
