package storm

import (
	"context"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
)

// victimWithin is how long a device plugin that is to be killed may be away: longer than kubelet's longest pause.
const victimWithin = 6 * time.Minute

// strike kills what is to be killed. A kubelet is started again when it has been away long enough; a device plugin is its
// kubelet's to start.
func (s *Storm) strike(ctx context.Context, what Strike) error {
	if what.Victim == Plugin {
		return s.killPlugin(ctx, what.Node)
	}
	if err := chaos.KillChild(s.inits[what.Node], string(Kubelet)); err != nil {
		return fmt.Errorf("%s: %w", what.Node, err)
	}
	select {
	case <-time.After(what.Away):
	case <-ctx.Done():
	}
	return s.Local.RestartKubelet(context.WithoutCancel(ctx), what.Node)
}

// killPlugin waits for a device plugin that it can kill: kubelet takes its time to start one that was killed before.
func (s *Storm) killPlugin(ctx context.Context, node string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, victimWithin, fmt.Errorf("%s has had no device plugin for %s", node, victimWithin))
	defer cancel()
	for {
		killed, err := chaos.Kill(s.Local.Name+"/"+node, string(Plugin))
		if err != nil || len(killed) > 0 {
			return err
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
