package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// What a user changes on a running pod counts from then on, and not from a restart of the coordinator.
func TestNode_FollowsChangedAnnotations(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		falling := func(step int) float64 { return 1 / float64(step+1) }
		both := map[string]func(int) float64{"a": falling, "b": falling}
		w.arrive("a")
		w.arrive("b")
		w.train(0, 3, both)
		require.Equal(t, w.requests()["a"], w.requests()["b"])

		w.annotatePod("a", gpushare.PriorityAnnotation, "4")
		require.Equal(t, 1, w.eventCount("a AnnotationsChanged: Trellis follows from now on what the pod has as gpushare/priority"))
		w.train(3, 3, both)
		require.Greater(t, w.requests()["a"], w.requests()["b"])
		before := w.requests()

		w.pass(time.Minute)
		w.annotatePod("a", gpushare.PriorityAnnotation, "20")
		require.Equal(t, 1, w.eventCount("a BadAnnotation: annotation gpushare/priority: \"20\""))
		w.train(6, 2, both)
		require.Equal(t, before, w.requests(), "the job keeps the values that it had")

		w.annotatePod("a", gpushare.PriorityAnnotation, "4")
		w.annotatePod("a", gpushare.DeadlineAnnotation, "2000-01-01T03:00:00Z")
		w.train(8, 2, both)
		require.NotNil(t, w.sample("a").Deadline)

		w.pass(time.Minute)
		w.annotatePod("a", gpushare.TuneAnnotation, "none")
		w.train(10, 2, both)
		require.Contains(t, w.explain("a").Fixed, "its user does not list cpu")
	})
}

// The metric of a running job does not change: what is known of the job depends on it. A target of another metric does not count either.
func TestNode_KeepsTheMetricOfARunningJob(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.train(0, 3, map[string]func(int) float64{"a": func(step int) float64 { return 1 / float64(step+1) }})
		pod, _ := w.pod(ref("a").UID)
		pod.Annotations[gpushare.MetricAnnotation] = "accuracy:max"
		pod.Annotations[gpushare.TargetAnnotation] = "accuracy>=0.1"
		w.apply(pod)
		require.Equal(t, 1, w.eventCount("a AnnotationsChanged: A change of gpushare/metric, gpushare/target counts from the job's next pod"))
		w.train(3, 3, map[string]func(int) float64{"a": func(int) float64 { return .2 }})
		require.Zero(t, w.eventCount("TargetReached"))
		require.Equal(t, "loss", w.sample("a").Metric)
	})
}

// A label that Trellis or another controller writes is no change.
func TestNode_IgnoresAnnotationsOfOthers(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("a", gpushare.PriorityAnnotation+"=2")
		w.annotatePod("a", "example.com/owner", "team")
		w.annotatePod("a", gpushare.PriorityAnnotation, " 2 ")
		require.Zero(t, w.eventCount("AnnotationsChanged"))
	})
}

// The status of the deadline before says nothing about a later one.
func TestNode_FollowsADeadlineThatWasExtended(t *testing.T) {
	w := newHarness(t)
	w.config.Ends = true
	w.start(policy.Harmless)
	falling := map[string]func(int) float64{"a": func(step int) float64 { return 1 / float64(step+1) }}
	in := func(d time.Duration) string { return w.now.Add(d).Format(time.RFC3339) }
	w.arrive("a", gpushare.DeadlineAnnotation+"="+in(time.Minute))
	w.train(0, 7, falling)
	require.Equal(t, 1, w.eventCount("a DeadlineMissed"))
	require.Equal(t, deadline.Missed, w.sample("a").Deadline.Status)

	w.annotatePod("a", gpushare.DeadlineAnnotation, in(time.Minute))
	w.train(7, 1, falling)
	require.NotEqual(t, deadline.Missed, w.sample("a").Deadline.Status)
	w.train(8, 7, falling)
	require.Equal(t, 2, w.eventCount("a DeadlineMissed"))
}

// An invalid value on a running pod changes nothing, and after a restart of the coordinator nothing but itself.
func TestNode_KeepsAJobWithAnInvalidValueAfterARestart(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation, value string
		tuned             bool
	}{
		"a priority": {gpushare.PriorityAnnotation, "20", true},
		"a deadline": {gpushare.DeadlineAnnotation, "soon", true},
		"a target":   {gpushare.TargetAnnotation, "accuracy>=0.9", true},
		"what may be tuned: nothing, as far as is known": {gpushare.TuneAnnotation, "cpuu", false},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.Harmless, func(t *testing.T, w *harness) {
				falling := map[string]func(int) float64{"a": func(step int) float64 { return 1 / float64(step+1) }}
				w.arrive("a", gpushare.ElasticAnnotation+"=1-4")
				w.train(0, 3, falling)
				w.annotatePod("a", tc.annotation, tc.value)
				require.Equal(t, 1, w.eventCount("a BadAnnotation: annotation "+tc.annotation))
				w.restart(policy.Harmless, "a")
				require.Equal(t, 1, w.eventCount(". The job goes on as if it had no such annotation"))
				w.train(3, 3, falling)
				require.Equal(t, int64(6), w.sample("a").Step)
				require.NotNil(t, w.sample("a").Elastic, "the valid ones count")
				require.Equal(t, tc.tuned, w.explain("a").Fixed == "")
			})
		})
	}
}

// A user who takes cpu out of gpushare/tune gets back what the pod was created with.
func TestNode_ReturnsTheCPUOfAJobThatIsNoLongerTuned(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		losses := map[string]func(int) float64{"a": falling, "b": flat}
		w.arrive("a")
		w.arrive("b")
		w.train(0, 8, losses)
		require.Less(t, w.requests()["b"], growth.MilliCPU(400))
		w.annotatePod("b", gpushare.TuneAnnotation, "loaders")
		w.train(8, 2, losses)
		require.Equal(t, map[string]growth.MilliCPU{"a": 500, "b": 500}, w.requests())
		require.Equal(t, 1, w.eventCount("500m, as when the pod was created, because its user does not list cpu in gpushare/tune"))
		w.restart(policy.FlowCon, "b")
		w.train(10, 2, losses)
		require.Equal(t, growth.MilliCPU(500), w.requests()["b"])
	})
}
