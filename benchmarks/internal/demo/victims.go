package demo

import (
	"context"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
)

// Victims implements chaos.Cluster for a local cluster: it kills processes on this machine and reads containers
// through the API server.
type Victims struct {
	Local   string
	Cluster *cluster.Connection
}

// Kill sends SIGKILL to every process of a binary in the local cluster.
func (v Victims) Kill(binary string) ([]int, error) { return chaos.Kill(v.Local, binary) }

// Containers returns the containers that run a binary.
func (v Victims) Containers(ctx context.Context, binary string) ([]chaos.Container, error) {
	statuses, err := v.Cluster.Containers(ctx, binary)
	var containers []chaos.Container
	for _, status := range statuses {
		containers = append(containers, chaos.Container{Ready: status.Ready, Restarts: int(status.RestartCount)})
	}
	return containers, err
}
