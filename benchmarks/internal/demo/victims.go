package demo

import (
	"context"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
)

// Victims is a local cluster as chaos sees it: killed on this machine, looked at through its API server.
type Victims struct {
	Local   string
	Cluster *cluster.Connection
}

// Kill ends every process of a binary in the local cluster.
func (v Victims) Kill(binary string) ([]int, error) { return chaos.Kill(v.Local, binary) }

// Containers tells how those that run a binary are.
func (v Victims) Containers(ctx context.Context, binary string) ([]chaos.Container, error) {
	statuses, err := v.Cluster.Containers(ctx, binary)
	var containers []chaos.Container
	for _, status := range statuses {
		containers = append(containers, chaos.Container{Ready: status.Ready, Restarts: int(status.RestartCount)})
	}
	return containers, err
}
