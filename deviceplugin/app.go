package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"

	group "github.com/oklog/run"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/cdi"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpuhealth"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/mps"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/node"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/plugin"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/usage"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	// bootID is where the kernel names this boot.
	bootID = "/proc/sys/kernel/random/boot_id"
	// meterEvery is how often the use of real GPUs is measured.
	meterEvery = 15 * time.Second
)

// excess is when a job that uses more than it asked for is told, and when it has to go where that is the policy.
var excess = usage.Config{WarnAfter: 30 * time.Second, WarnInterval: 30 * time.Minute, EvictAfter: 2 * time.Minute}

// app is the parts, built.
type app struct {
	stock *stocked
	// live are the parts that run; each returns when ctx ends, or when it can not go on.
	live []func(ctx context.Context) error
	// ends close connections.
	ends []func() error

	bus    *etcdbus.Bus
	pods   *pods.Watcher
	ledger *allocations.Tracker
	life   *plugin.Registrar
}

// build lists the GPUs and makes the parts. It waits for nobody: kubelet, the bus and the API server may all come later.
// For a dry run it does nothing but list.
func build(ctx context.Context, c config, log *slog.Logger) (a *app, err error) {
	a = &app{}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	policy, _ := gpuhealth.ParsePolicy(c.xidPolicy) // validated
	monitor := gpuhealth.New(gpuhealth.Config{Policy: policy, RecoverAfter: c.recoverAfter, LossAfter: c.lossAfter})
	memory := gpuhealth.FaultStore{Dir: c.stateDir, BootID: bootID}
	faults, err := memory.Load()
	if err != nil {
		return a, err
	}
	monitor.Restore(faults)
	if c.dryRun {
		a.stock, err = inventory(ctx, c, log, monitor)
		return a, err
	}

	client, err := apiserver.Open(c.kubeconfig)
	if err != nil {
		return a, err
	}
	name := growth.NodeName(c.node)
	cordon := node.NewCordon(log)
	judges := []gpu.HealthCheck{monitor, cordon}
	fleet := &mps.Supervisor{Program: c.mpsProgram, StateDir: c.stateDir, Log: log}
	if c.sharing == shareByMPS {
		if _, err := exec.LookPath(c.mpsProgram); err != nil {
			return a, fmt.Errorf("--sharing=mps: %w: run the container with the nvidia runtime and NVIDIA_DRIVER_CAPABILITIES=compute,utility", err)
		}
		judges = append(judges, fleet)
	}
	if a.stock, err = inventory(ctx, c, log, judges...); err != nil {
		return a, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), gpuCollector{a.stock})
	if err := a.serve(c, client, registry, log); err != nil {
		return a, err
	}
	a.add(func(ctx context.Context) error { return a.stock.Run(ctx, inventoryEvery, inventorySoon) })
	a.add(func(ctx context.Context) error {
		return node.Watch{Client: client, Node: name, Log: log}.Run(ctx, func(annotations map[string]string) error {
			if cordon.Update(annotations) {
				a.stock.Reevaluate()
			}
			if a.stock.emulated {
				return nil // nobody else can hand those out
			}
			return node.CheckLock(annotations, time.Now())
		})
	})
	a.add(node.Labeller{Client: client, Node: name, Inventory: a.stock, Driver: a.stock.version(), Emulated: a.stock.emulated, Log: log}.Run)
	a.add(gpuhealth.EventRecorder{Node: name, Inventory: a.stock, Holders: a.ledger.Holders, Events: client, Log: log}.Run)
	if c.sharing == shareByMPS {
		a.add(func(ctx context.Context) error { return fleet.Run(ctx, a.stock) })
	}
	if c.delivery == deliverCDI {
		host := cdi.Host{Root: os.DirFS(c.driverRoot), Driver: a.stock.version()}
		a.add(cdi.Writer{Dir: c.cdiDir, Host: host, Inventory: a.stock, Log: log}.Run)
	}
	if a.stock.driver != nil {
		listener := &gpuhealth.Listener{Source: a.stock.driver, Monitor: monitor, Inventory: a.stock, Store: memory, XIDs: gpuhealth.NewXIDs(registry), Log: log}
		a.add(listener.Run)
		meter := a.meter(c, client, log)
		registry.MustRegister(meter)
		a.add(func(ctx context.Context) error { return meter.Run(ctx, meterEvery) })
	}
	listener, err := listen(c.health, a, registry)
	if err != nil {
		return a, err
	}
	a.add(listener.Run)
	return a, nil
}

// serve makes the parts that speak with kubelet and keep the books.
func (a *app) serve(c config, client *apiserver.Client, registry *prometheus.Registry, log *slog.Logger) error {
	name := growth.NodeName(c.node)
	slots, err := slot.Open(c.stateDir)
	if err != nil {
		return err
	}
	resources, err := kubelet.Dial(c.podResources, c.resource)
	if err != nil {
		return err
	}
	a.ends = append(a.ends, resources.Close)
	c.etcd.Log = log
	if a.bus, err = etcdbus.Open(c.etcd); err != nil {
		return err
	}
	a.ends = append(a.ends, a.bus.Close) // drops at once what lives only as long as we do
	a.pods = pods.New(client, name, c.resource, log)
	a.ledger = allocations.New(allocations.Config{
		Node: name, Unit: a.stock.unit, Kubelet: resources, Pods: a.pods, Slots: slots, Bus: a.bus, Inventory: a.stock, Metrics: allocations.NewMetrics(registry), Log: log,
	})
	metrics := plugin.NewMetrics(registry)
	server := &plugin.Server{
		Unit: a.stock.unit, Emulated: a.stock.emulated, CDI: c.delivery == deliverCDI, Inventory: a.stock, Allocations: a.ledger, Slots: slots, Metrics: metrics, Log: log,
	}
	announcer := allocations.Publisher{
		Node: name, Unit: a.stock.unit, Resource: c.resource, Emulated: a.stock.emulated, Inventory: a.stock, Streams: &server.Streams, Bus: a.bus, Log: log,
	}
	inherited := c.resource != gpushare.Resource // nobody else offers ours
	if inherited {
		announcer.Ready = a.ledger.AwaitImportsPublished
	}
	if c.sharing == shareByMPS {
		server.MPS = c.stateDir
	}
	a.life = &plugin.Registrar{Dir: c.pluginDir, Resource: c.resource, Server: server, Lister: resources, AwaitImports: inherited, Metrics: metrics, Log: log}
	for _, live := range []func(context.Context) error{a.pods.Run, a.ledger.Follow, a.ledger.Run, announcer.Run, a.life.Run} {
		a.add(live)
	}
	return nil
}

func (a *app) meter(c config, client *apiserver.Client, log *slog.Logger) *usage.Meter {
	config := excess
	config.Slack, _ = gpushare.ParseMemory(c.excessSlack) // validated
	if c.onExcess == excessWarn {
		config.EvictAfter = 0
	}
	return &usage.Meter{
		Driver: a.stock.driver, Proc: usage.Proc(c.proc), Allocations: a.ledger.Allocations, Detector: &usage.ExcessDetector{Config: config}, API: client, Log: log,
	}
}

func (a *app) add(live func(context.Context) error) { a.live = append(a.live, live) }

// run lets every part live until ctx ends, or one of them does.
func (a *app) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var actors group.Group
	for _, live := range a.live {
		actors.Add(func() error { return live(ctx) }, func(error) { cancel() })
	}
	return actors.Run()
}

// close ends the connections and the driver.
func (a *app) close() {
	for _, end := range a.ends {
		_ = end()
	}
	if a.stock != nil {
		a.stock.close()
	}
}
