package main

import (
	"context"
	"log/slog"
	"time"

	group "github.com/oklog/run"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/ledger"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/plugin"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus/etcdbus"
)

// inventoryEvery is how often the driver is asked again.
const inventoryEvery = 10 * time.Second

// app is the parts, built.
type app struct {
	stock     *stocked
	bus       *etcdbus.Bus
	kubelet   *kubelet.Client
	pods      *pods.Watcher
	ledger    *ledger.Ledger
	announcer ledger.Announcer
	life      *plugin.Life
	health    *health
}

// build makes the parts and waits for nobody: kubelet, the bus and the API server may all come later.
func build(c config, stock *stocked, log *slog.Logger) (*app, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), gpuCollector{stock})
	node := growth.NodeName(c.node)
	client, err := apiserver.Open(c.kubeconfig)
	if err != nil {
		return nil, err
	}
	a := &app{stock: stock, pods: pods.New(client, node, c.resource, log)}
	slots, err := slot.Open(c.stateDir)
	if err != nil {
		return nil, err
	}
	if a.kubelet, err = kubelet.Dial(c.podResources, c.resource); err != nil {
		return nil, err
	}
	c.etcd.Log = log
	if a.bus, err = etcdbus.Open(c.etcd); err != nil {
		return nil, err
	}
	a.ledger = ledger.New(ledger.Config{
		Node: node, Unit: stock.unit, Kubelet: a.kubelet, Pods: a.pods, Slots: slots, Bus: a.bus, Metrics: ledger.NewMetrics(registry), Log: log,
	})
	a.announcer = ledger.Announcer{
		Node: node, Unit: stock.unit, Resource: c.resource, Emulated: stock.emulated, Inventory: stock, Bus: a.bus, Log: log,
	}
	metrics := plugin.NewMetrics(registry)
	a.life = &plugin.Life{
		Dir: c.pluginDir, Resource: c.resource, Metrics: metrics, Log: log,
		Server: &plugin.Server{
			Unit: stock.unit, Emulated: stock.emulated, Inventory: stock, Ledger: a.ledger, Slots: slots, Metrics: metrics, Log: log,
		},
	}
	a.health, err = listen(c.health, a, registry)
	return a, err
}

// run lets every part live until ctx ends, or one of them does.
func (a *app) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var actors group.Group
	for _, live := range []func(context.Context) error{
		a.pods.Run,
		a.ledger.Follow,
		a.ledger.Run,
		a.announcer.Run,
		a.life.Run,
		a.health.Run,
		func(ctx context.Context) error { return a.stock.Run(ctx, inventoryEvery) },
	} {
		actors.Add(func() error { return live(ctx) }, func(error) { cancel() })
	}
	return actors.Run()
}

// close ends the connections; the bus drops at once what lives only as long as we do.
func (a *app) close() {
	_ = a.bus.Close()
	_ = a.kubelet.Close()
}
