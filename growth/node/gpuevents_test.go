package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

// A job that never stops in time has an event every five minutes, with the number of times.
func TestReportOverdue_IsRateLimited(t *testing.T) {
	start := time.Unix(1000, 0)
	n := &Node{}
	j := gpuJob{job: &job{eventTimes: map[string]time.Time{}}, gpus: []growth.GPU{"GPU-0"}}
	for second := range int64(301) {
		n.now = start.Add(time.Duration(second) * time.Second)
		use := GPUUse{Overdue: second}
		n.reportOverdue(j, use)
		j.gpu.seen = use
	}
	n.reportOverdue(j, GPUUse{}) // the coordinator has started again
	require.Len(t, n.out.Events, 1, "the second event is due after another second")
	require.Equal(t, "TurnOverdue", n.out.Events[0].Reason)
	require.Contains(t, n.out.Events[0].Message, "its turn on GPU-0 (1 times so far)")

	n.now = start.Add(301 * time.Second)
	n.reportOverdue(j, GPUUse{Overdue: 301})
	require.Len(t, n.out.Events, 2)
	require.Contains(t, n.out.Events[1].Message, "(301 times so far)")
}
