package storm

import (
	"context"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
)

// victimWithin bounds the wait for a device plugin to kill. It is longer than kubelet's longest back-off.
const victimWithin = 6 * time.Minute

// strike kills the victim. It restarts a kubelet after its downtime; kubelet restarts the device plugin.
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

// killPlugin waits for a device plugin that it can kill: after an earlier kill, kubelet starts a new one with a
// delay.
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
