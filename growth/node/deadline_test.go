package node_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// deadlineJobs are jobs of which the urgent one comes second, by its size.
func deadlineJobs() []training {
	loss := func(part float64) float64 { return math.Exp(-3*part) + .1 }
	return []training{{"short", 0, 180, loss}, {"urgent", 0, 300, loss}, {"long", 0, 500, loss}}
}

// completeUrgent runs these jobs under a policy, the urgent one with a deadline; 0 for none.
func completeUrgent(t *testing.T, name policy.Name, due time.Duration) (*harness, map[string]float64) {
	w := newHarness(t)
	w.config.Ends = true
	w.start(name)
	if due > 0 {
		w.annotations = map[string][]string{"urgent": {gpushare.DeadlineAnnotation + "=" + w.now.Add(due).Format(time.RFC3339)}}
	}
	return w, complete(t, w, 1, deadlineJobs(), nil).took
}

// The whole node with a simulated CPU. Without the deadline the urgent job would end after it. No job ends later than under fair
// sharing by more than an interval and 5 %.
func TestDeadline_IsServedFromTheSlack(t *testing.T) {
	_, fair := completeUrgent(t, policy.Fair, 0)
	_, without := completeUrgent(t, policy.Harmless, 0)
	w, got := completeUrgent(t, policy.Harmless, 420*time.Second)
	require.Greater(t, without["urgent"], 440.0)
	require.LessOrEqual(t, got["urgent"], 420.0)
	for name, took := range got {
		require.LessOrEqual(t, took, fair[name]*1.05+interval.Seconds(), "%s: %v, fair sharing %v", name, got, fair)
	}
	require.Equal(t, 1, w.eventCount("urgent DeadlineMet: The job ended"))
	require.Zero(t, w.eventCount("urgent DeadlineMissed"))
	require.Zero(t, w.eventCount("DeadlineInfeasible"))
}

// A deadline that cannot be made changes nothing for any job, and is reported once.
func TestDeadline_Infeasible(t *testing.T) {
	_, without := completeUrgent(t, policy.Harmless, 0)
	w, got := completeUrgent(t, policy.Harmless, 120*time.Second)
	require.Equal(t, without, got)
	require.Equal(t, 1, w.eventCount("urgent DeadlineInfeasible"))
	require.Equal(t, 2, w.eventCount("urgent DeadlineMissed"), "when it passes, and at the end")
}

// Under a policy that serves no deadlines the forecast is the same kind of event, and the arrival says so.
func TestDeadline_IsForecastUnderFair(t *testing.T) {
	w, _ := completeUrgent(t, policy.Fair, 420*time.Second)
	require.Equal(t, 1, w.eventCount("the policy fair divides without regard to deadlines"))
	require.NotZero(t, w.eventCount("urgent DeadlineAtRisk: The job will miss its deadline, 2000-01-01T00:07:00Z, by"))
}

// The sample and the explanation have the status, before anything is known of the job's work and after.
func TestDeadline_Status(t *testing.T) {
	w := newHarness(t)
	w.config.Ends = true
	w.start(policy.Harmless)
	w.arrive("job", gpushare.DeadlineAnnotation+"="+w.now.Add(time.Hour).Format(time.RFC3339))
	w.pass(interval)
	require.Equal(t, deadline.Unknown, w.sample("job").Deadline.Status)
	require.Nil(t, w.sample("job").Deadline.LateBy)
	require.Equal(t, growth.Seconds(3600-interval.Seconds()), *w.sample("job").Deadline.Left)
	require.Equal(t, w.sample("job").Deadline, w.explain("job").Deadline)
	w.pass(2 * time.Hour)
	require.Equal(t, deadline.Missed, w.sample("job").Deadline.Status)
	w.arrive("other")
	w.pass(interval)
	require.Nil(t, w.sample("other").Deadline)
}
