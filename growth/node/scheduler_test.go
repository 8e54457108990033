package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestArrive_ReportsAnotherSchedulerOnce(t *testing.T) {
	for scheduler, want := range map[string]int{"": 0, gpushare.SchedulerName: 0, "volcano": 1} {
		t.Run(scheduler, func(t *testing.T) {
			in(t, policy.Harmless, func(t *testing.T, w *harness) {
				pod := node.Pod{
					Ref:         ref("job"),
					Running:     true,
					Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
					Containers:  []node.Container{{Name: "train", Request: 500}},
					Scheduler:   scheduler,
				}
				w.apply(pod)
				w.apply(pod)
				require.Equal(t, want, w.eventCount("job OtherScheduler"))

				pod.Annotations = map[string]string{gpushare.MemoryAnnotation: "1", gpushare.CategoryAnnotation: string(growth.Watching)}
				w.start(policy.Harmless)
				w.apply(pod)
				require.Equal(t, want, w.eventCount("job OtherScheduler"), "after a restart of the coordinator")
			})
		})
	}
}
