package loop

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// drainTime bounds the wait for the last messages of a job. Only a job that goes on sending takes as long.
const drainTime = 200 * time.Millisecond

// drain receives the last messages of a pod before the node learns of its end, and then forgets the job. Sockets are read once a
// second: a job may save and end in between. It delays only the caller.
func (l *Loop) drain(pod growth.PodUID) {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	open := make(chan []string, 1)
	select {
	case l.inbox <- func() { open <- l.node.Slots(pod) }:
	case <-l.done:
		return
	case <-ctx.Done():
		return
	}
	select {
	case slots := <-open:
		for _, slot := range slots {
			l.ports.Sockets.Drain(ctx, slot)
		}
	case <-l.done:
	case <-ctx.Done():
	}
}
