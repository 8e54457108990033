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

// deployedEnv is the part of the environment in deploy/base that affects the figures.
var deployedEnv = []string{"GOGC=" + shipped.ExtenderGOGC}

// startExtender starts the measured extender with a bus. It does not wait until the extender is ready.
func (b *bench) startExtender(p *plane, store *bus, policy string) (contestant, error) {
	address, err := processtest.FreeAddress()
	if err != nil {
		return contestant{}, err
	}
	health, err := processtest.FreeAddress()
	if err != nil {
		return contestant{}, err
	}
	started, err := launchWith(b.dir, deployedEnv, filepath.Join(b.Binaries, "extender"), "--listen="+address, "--health-listen="+health, "--policy="+policy,
		"--kubeconfig="+p.kubeconfig(extenderUser), "--etcd-endpoints="+store.url)
	return contestant{started, "http://" + address, "http://" + health + "/readyz"}, err
}

// startNullExtender starts the extender that does nothing.
func (b *bench) startNullExtender(p *plane) (contestant, error) {
	address, err := processtest.FreeAddress()
	if err != nil {
		return contestant{}, err
	}
	started, err := launch(b.dir, filepath.Join(b.Binaries, "benchmarks"), "null-extender", "--listen="+address, "--kubeconfig="+p.kubeconfig(extenderUser))
	return contestant{started, "http://" + address, "http://" + address + "/readyz"}, err
}

func (c contestant) wait(ctx context.Context) error { return c.AwaitURL(ctx, c.ready) }
