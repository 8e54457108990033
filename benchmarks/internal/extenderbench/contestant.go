package extenderbench

import (
	"context"
	"path/filepath"

	"github.com/trellis-gpu/trellis/benchmarks/internal/shipped"
	"github.com/trellis-gpu/trellis/daemon/processtest"
)

// contestant is an extender under measurement.
type contestant struct {
	*process
	// url serves the scheduler's requests, ready the readiness probe.
	url, ready string
}

// asDeployed is the part of the environment in deploy/base that affects the figures.
var asDeployed = []string{"GOGC=" + shipped.ExtenderGOGC}

// ours starts the extender on a bus. It does not wait until the extender is ready.
func (b *bench) ours(p *plane, on *bus, policy string) (contestant, error) {
	ask, err := processtest.FreeAddress()
	if err != nil {
		return contestant{}, err
	}
	health, err := processtest.FreeAddress()
	if err != nil {
		return contestant{}, err
	}
	started, err := launchWith(b.dir, asDeployed, filepath.Join(b.Binaries, "extender"), "--listen="+ask, "--health-listen="+health, "--policy="+policy,
		"--kubeconfig="+p.kubeconfig(extenderUser), "--etcd-endpoints="+on.url)
	return contestant{started, "http://" + ask, "http://" + health + "/readyz"}, err
}

// null starts the extender that does nothing.
func (b *bench) null(p *plane) (contestant, error) {
	ask, err := processtest.FreeAddress()
	if err != nil {
		return contestant{}, err
	}
	started, err := launch(b.dir, filepath.Join(b.Binaries, "benchmarks"), "null-extender", "--listen="+ask, "--kubeconfig="+p.kubeconfig(extenderUser))
	return contestant{started, "http://" + ask, "http://" + ask + "/readyz"}, err
}

func (c contestant) wait(ctx context.Context) error { return c.AwaitURL(ctx, c.ready) }
