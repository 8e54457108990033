package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// The whole node with a simulated CPU. Under fair sharing the urgent job ends after 780 s. Unlike harmless, the policy bounds no harm.
func TestQoreDL_LateJobsGrowAtTheExpenseOfOthers(t *testing.T) {
	_, fair := completeUrgent(t, policy.Fair, 0)
	w, got := completeUrgent(t, policy.QoreDL, 600*time.Second)
	require.LessOrEqual(t, got["urgent"], 600.0, "%v, fair sharing %v", got, fair)
	require.Greater(t, got["short"], 1.05*fair["short"])
	require.Equal(t, 1, w.eventCount("urgent DeadlineMet"))
	require.Zero(t, w.eventCount("without regard to deadlines"))
}

// The node passes its load and its jobs to package deadline: each case, and what the decision says.
func TestQoreDL_Cases(t *testing.T) {
	due := func(w *harness, in time.Duration) string {
		return gpushare.DeadlineAnnotation + "=" + w.now.Add(in).Format(time.RFC3339)
	}
	for name, tc := range map[string]struct { // each of two jobs needs 60 s of a core
		cores float64 // of the machine: the node has one
		due   time.Duration
		want  deadline.Case
	}{
		"late, with room":           {0.5, 70 * time.Second, deadline.LateWithRoom},
		"late, without room":        {1, 70 * time.Second, deadline.LateWithoutRoom},
		"in time, little load":      {0.3, time.Hour, deadline.Idle},
		"in time, medium load":      {0.6, time.Hour, deadline.Settled},
		"in time, the node is full": {1, time.Hour, deadline.Full},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t)
			w.start(policy.QoreDL)
			w.annotations = map[string][]string{"urgent": {due(w, tc.due)}}
			reasons := map[string]bool{}
			jobs := []training{{"other", 0, 60, level}, {"urgent", 0, 60, level}}
			complete(t, w, tc.cores, jobs, func(second int) {
				if second == 60 {
					decisions := w.explain("urgent").Decisions
					reasons[decisions[len(decisions)-1].Reason] = true
				}
			})
			for reason := range reasons {
				require.Contains(t, reason, tc.want.String())
			}
			require.Len(t, reasons, 1)
		})
	}
}

func level(float64) float64 { return 1 }
