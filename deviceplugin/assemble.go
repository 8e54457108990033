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
)

// bootID is the kernel's file with the id of this boot.
const bootID = "/proc/sys/kernel/random/boot_id"

// app holds the parts of the device plugin.
type app struct {
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
	allocations *allocations.Tracker
	registrar   *plugin.Registrar
}

// run builds the parts and runs them until ctx ends.
func run(ctx context.Context, c *config.Config, log *slog.Logger) error {
	a, err := assemble(ctx, c, log)
	if err != nil {
		return err
	}
	defer a.close()
	log.Info("starting", "version", version, "gpus", c.GPUs, "unit", a.inventory.unit.String(), "resource", c.Resource,
		"sharing", c.Sharing, "delivery", c.Delivery)
	return a.group.Run(ctx)
}

// assemble lists the GPUs and builds the parts. It does not wait for kubelet, the bus or the API server, which may
// start later.
func assemble(ctx context.Context, c *config.Config, log *slog.Logger) (a *app, err error) {
	a = &app{config: c, log: log, registry: prometheus.NewRegistry()}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if a.monitor, a.faults, err = openMonitor(c); err != nil {
		return a, err
	}
	if a.client, err = apiserver.Open(c.Kubeconfig); err != nil {
		return a, err
	}
	checks, err := a.healthChecks()
	if err != nil {
		return a, err
	}
	if a.inventory, err = openInventory(ctx, c, log, checks...); err != nil {
		return a, err
	}
	a.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), gpuCollector{a.inventory})
	a.group, err = daemon.NewGroup(&probes.Probes{Ready: a.ready, Metrics: a.registry}, c.HealthListen)
	if err != nil {
		return a, err
	}
	if err := a.addKubelet(); err != nil {
		return a, err
	}
	a.addNode()
	a.addDriver()
	return a, nil
}

// openMonitor returns the monitor of the GPUs' health, with the faults of earlier runs.
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
func (a *app) healthChecks() ([]gpu.HealthCheck, error) {
	a.cordon = node.NewCordon(a.log)
	a.mps = &mps.Supervisor{Program: a.config.MPSProgram, StateDir: a.config.StateDir, Log: a.log}
	checks := []gpu.HealthCheck{a.monitor, a.cordon}
	if a.config.Sharing != config.ShareByMPS {
		return checks, nil
	}
	if _, err := exec.LookPath(a.config.MPSProgram); err != nil {
		return nil, fmt.Errorf("--sharing=mps: %w: run the container with the nvidia runtime and NVIDIA_DRIVER_CAPABILITIES=compute,utility", err)
	}
	return append(checks, a.mps), nil
}

// addNode adds the parts that list the GPUs, and report them on the node and its pods.
func (a *app) addNode() {
	name, inventory := a.config.Node, a.inventory
	a.group.Add(
		func(ctx context.Context) error { return inventory.Run(ctx, listInterval, recheckInterval) },
		func(ctx context.Context) error {
			return node.Watch{Client: a.client, Node: name, Log: a.log}.Run(ctx, a.nodeChanged)
		},
		node.Labeller{
			Client: a.client, Node: name, Inventory: inventory, Driver: inventory.version(), Emulated: inventory.emulated, Log: a.log,
		}.Run,
		gpuhealth.EventRecorder{
			Node: name, Inventory: inventory, Holders: a.allocations.Holders, Events: a.client, Log: a.log,
		}.Run,
	)
	if a.config.Sharing == config.ShareByMPS {
		a.group.Add(func(ctx context.Context) error { return a.mps.Run(ctx, inventory) })
	}
	if a.config.Delivery == config.DeliverCDI {
		host := cdi.Host{Root: os.DirFS(a.config.DriverRoot), Driver: inventory.version()}
		a.group.Add(cdi.Writer{Dir: a.config.CDIDir, Host: host, Inventory: inventory, Log: a.log}.Run)
	}
}

// nodeChanged reads the annotations of the node. It returns an error if another device plugin has locked the GPUs.
func (a *app) nodeChanged(annotations map[string]string) error {
	if a.cordon.Update(annotations) {
		a.inventory.Reevaluate()
	}
	if a.inventory.emulated {
		return nil // no other device plugin offers emulated GPUs
	}
	return node.CheckLock(annotations, time.Now())
}

// close closes the connections and the driver.
func (a *app) close() {
	for _, closer := range a.closers {
		_ = closer()
	}
	if a.inventory != nil {
		a.inventory.close()
	}
}
