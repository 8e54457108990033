package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/trellis-gpu/trellis/daemon"
	"github.com/trellis-gpu/trellis/daemon/probes"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/cdi"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/config"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpuhealth"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/mps"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/node"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/plugin"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
)

// bootID is the kernel's file with the id of this boot.
const bootID = "/proc/sys/kernel/random/boot_id"

// parts are the parts of the device plugin.
type parts struct {
	config   *config.Config
	log      *slog.Logger
	client   *apiserver.Client
	registry *prometheus.Registry
	group    *daemon.Group
	// closers close connections.
	closers []func() error

	inventory   *inventory
	monitor     *gpuhealth.Monitor
	faults      gpuhealth.FaultStore
	cordon      *node.Cordon
	mps         *mps.Supervisor
	pods        *pods.Watcher
	slots       *slot.Store
	allocations *allocations.Tracker
	registrar   *plugin.Registrar
}

// run builds the parts and runs them until ctx ends.
func run(ctx context.Context, c *config.Config, log *slog.Logger) error {
	p, err := assemble(ctx, c, log)
	if err != nil {
		return err
	}
	defer p.close()
	log.Info("starting", "version", version, "gpus", c.GPUs, "unit", p.inventory.unit.String(), "resource", c.Resource,
		"sharing", c.Sharing, "delivery", c.Delivery)
	return p.group.Run(ctx)
}

// assemble lists the GPUs and builds the parts. It does not wait for kubelet, the bus or the API server, which may
// start later. The parts stop in the order in which they join the group.
func assemble(ctx context.Context, c *config.Config, log *slog.Logger) (p *parts, err error) {
	p = &parts{config: c, log: log, registry: prometheus.NewRegistry()}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.monitor, p.faults, err = openMonitor(c); err != nil {
		return p, err
	}
	if p.client, err = apiserver.Open(c.Kubeconfig); err != nil {
		return p, err
	}
	checks, err := p.healthChecks()
	if err != nil {
		return p, err
	}
	if p.inventory, err = openInventory(ctx, c, log, checks...); err != nil {
		return p, err
	}
	p.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gpuCollector{p.inventory},
	)
	p.group, err = daemon.NewGroup(&probes.Probes{Ready: p.ready, Metrics: p.registry}, c.HealthListen)
	if err != nil {
		return p, err
	}
	if err := p.addKubelet(); err != nil {
		return p, err
	}
	p.addNode()
	p.addDriver()
	return p, nil
}

// openMonitor returns the monitor of the GPUs' health, with the faults that an earlier process stored.
func openMonitor(c *config.Config) (*gpuhealth.Monitor, gpuhealth.FaultStore, error) {
	policy, _ := gpuhealth.ParsePolicy(c.XIDPolicy) // validated
	monitor := gpuhealth.New(gpuhealth.Config{Policy: policy, RecoverAfter: c.RecoverAfter, LossAfter: c.LossAfter})
	store := gpuhealth.FaultStore{Dir: c.StateDir, BootID: bootID}
	faults, err := store.Load()
	if err != nil {
		return nil, store, err
	}
	monitor.Restore(faults)
	return monitor, store, nil
}

// healthChecks returns the checks that decide whether a GPU may be given to new pods.
func (p *parts) healthChecks() ([]gpu.HealthCheck, error) {
	p.cordon = node.NewCordon(p.log)
	p.mps = &mps.Supervisor{Program: p.config.MPSProgram, StateDir: p.config.StateDir, Log: p.log}
	checks := []gpu.HealthCheck{p.monitor, p.cordon}
	if p.config.Sharing != config.ShareByMPS {
		return checks, nil
	}
	if _, err := exec.LookPath(p.config.MPSProgram); err != nil {
		return nil, fmt.Errorf("--sharing=mps: %w: run the container with the nvidia runtime and NVIDIA_DRIVER_CAPABILITIES=compute,utility", err)
	}
	return append(checks, p.mps), nil
}

// addNode adds the parts that list the GPUs, and report them on the node and its pods.
func (p *parts) addNode() {
	name, inventory := p.config.Node, p.inventory
	p.group.Add(
		func(ctx context.Context) error { return inventory.Run(ctx, listInterval, recheckInterval) },
		func(ctx context.Context) error {
			return node.Watch{Client: p.client, Node: name, Log: p.log}.Run(ctx, p.nodeChanged)
		},
		node.Labeller{
			Client:    p.client,
			Node:      name,
			Inventory: inventory,
			Driver:    inventory.version(),
			Emulated:  inventory.emulated,
			Log:       p.log,
		}.Run,
		gpuhealth.EventRecorder{
			Node:      name,
			Inventory: inventory,
			Holders:   p.allocations.Holders,
			Events:    p.client,
			Log:       p.log,
		}.Run,
	)
	if p.config.Sharing == config.ShareByMPS {
		p.group.Add(func(ctx context.Context) error { return p.mps.Run(ctx, inventory) })
	}
	if p.config.Delivery == config.DeliverCDI {
		host := cdi.Host{Root: os.DirFS(p.config.DriverRoot), Driver: inventory.version()}
		p.group.Add(cdi.Writer{Dir: p.config.CDIDir, Host: host, Inventory: inventory, Log: p.log}.Run)
	}
}

// nodeChanged reads the annotations of the node. It returns an error if another device plugin has locked the GPUs.
func (p *parts) nodeChanged(annotations map[string]string) error {
	if p.cordon.Update(annotations) {
		p.inventory.Reevaluate()
	}
	if p.inventory.emulated {
		return nil // no other device plugin offers emulated GPUs
	}
	return node.CheckLock(annotations, time.Now())
}

// close closes the connections and the driver.
func (p *parts) close() {
	for _, closer := range p.closers {
		_ = closer()
	}
	if p.inventory != nil {
		p.inventory.close()
	}
}
