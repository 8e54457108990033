//go:build linux

package cluster

import (
	"context"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

const (
	// RestartKubelet is the signal that makes a node's init kill its kubelet and start it again.
	RestartKubelet = unix.SIGHUP
	// restartLimit bounds the time until the restart is reported.
	restartLimit = 30 * time.Second
)

// Restart kills a node's kubelet, as a crash would, and starts it again. A kubelet that has ended is only started. Restart
// returns once the new process runs, some seconds before it serves. Pods keep running.
func Restart(ctx context.Context, root state.Root, name, node string, out io.Writer) error {
	folder := root.Cluster(name)
	before, err := folder.Read()
	if err != nil {
		return fmt.Errorf("cluster %s: %w", name, err)
	}
	init, ok := before.Processes[node]
	if _, planned := before.Node(node); !ok || !planned || !init.Alive() {
		return fmt.Errorf("cluster %s has no running node %q", name, node)
	}
	if err := init.Signal(RestartKubelet); err != nil {
		return fmt.Errorf("ask %s: %w", node, err)
	}
	ctx, cancel := context.WithTimeout(ctx, restartLimit)
	defer cancel()
	program := kubeletOf(node)
	for {
		now, err := folder.Read()
		if err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
		if now.Restarted[program] > before.Restarted[program] {
			fmt.Fprintf(out, "%s started again\n", program)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s was not started again: %w (log: %s)", program, ctx.Err(), folder.Log(node))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func kubeletOf(node string) string { return node + "/kubelet" }
