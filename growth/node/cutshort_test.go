package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// A job that names no number of steps is done when it ends. If it has failed, or was deleted, it is not: its deadline was not met, and
// its run does not show how much such a job has to do.
func TestJob_ThatWasCutShort(t *testing.T) {
	for name, tc := range map[string]struct {
		end     func(*node.Pod, time.Time)
		total   int64
		message string
		done    bool // the deadline was met
		known   bool // the run predicts the next one
	}{
		"ends":                         {func(p *node.Pod, _ time.Time) { p.Containers[0].Ended = true }, 0, "The job ended after", true, true},
		"fails":                        {fails, 0, "The job failed (exit code 1) after", false, false},
		"is deleted":                   {func(p *node.Pod, now time.Time) { p.Deadline = now.Add(time.Minute) }, 0, "The job ended after", false, false},
		"is deleted after its end":     {func(p *node.Pod, now time.Time) { p.Deadline, p.Containers[0].Ended = now.Add(time.Minute), true }, 0, "The job ended after", true, true},
		"fails, and has named a total": {fails, 90, "The job failed (exit code 1) after", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := harnessOfOneCore(t)
			w.start(policy.Harmless)
			w.trainUncounted("first", 90, tc.total)
			pod, _ := w.pod(ref("first").UID)
			pod.Running = false
			tc.end(&pod, w.now)
			w.apply(pod)
			w.pass(2 * time.Minute) // a deleted one may save until its grace period ends
			require.Equal(t, 1, w.eventCount("first JobEnded: "+tc.message))
			require.Equal(t, tc.done, w.eventCount("first DeadlineMet") == 1)

			w.trainUncounted("second", 32, tc.total)
			require.Equal(t, tc.known, w.inputs("second").SimilarJobs == "ns/first")
		})
	}
}

func fails(p *node.Pod, _ time.Time) {
	p.Containers[0].Ended, p.Containers[0].Failed = true, "exit code 1"
}

// trainUncounted runs steps of a job with a deadline that names a total, or none if it is 0.
func (w *harness) trainUncounted(name string, steps, total int64) {
	w.apply(node.Pod{
		Ref:         ref(name),
		Running:     true,
		Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.DeadlineAnnotation: w.now.Add(time.Hour).Format(time.RFC3339)},
		Containers:  []node.Container{{Name: "train", Request: 500}},
		Program:     "train #",
		Anywhere:    "train #",
	})
	w.allocate(name)
	w.pass(time.Second)
	for step := range steps {
		w.machine.used[ref(name).UID]++
		w.send(name, wire.Progress{Step: step + 1, TotalSteps: total, Steps: 1, Metrics: wire.Metrics{{Name: "loss", Value: plateau(float64(step))}}})
		w.pass(time.Second)
	}
}
