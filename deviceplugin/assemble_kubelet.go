package main

import (
	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/config"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/plugin"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// addKubelet adds the parts that serve kubelet and track what it allocates.
func (a *app) addKubelet() error {
	c := a.config
	slots, err := slot.Open(c.StateDir)
	if err != nil {
		return err
	}
	lister, err := kubelet.Dial(c.PodResources, c.Resource)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, lister.Close)
	c.Etcd.Log = a.log
	bus, err := etcdbus.Open(c.Etcd)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, bus.Close) // ends the session, and with it the records of this run
	a.pods = pods.New(a.client, c.Node, c.Resource, a.log)
	a.allocations = allocations.New(allocations.Config{
		Node:      c.Node,
		Unit:      a.inventory.unit,
		Kubelet:   lister,
		Pods:      a.pods,
		Slots:     slots,
		Bus:       bus,
		Inventory: a.inventory,
		Metrics:   allocations.NewMetrics(a.registry),
		Log:       a.log,
	})
	metrics := plugin.NewMetrics(a.registry)
	server := a.server(slots, metrics)
	publisher := allocations.Publisher{
		Node:      c.Node,
		Unit:      a.inventory.unit,
		Resource:  c.Resource,
		Emulated:  a.inventory.emulated,
		Inventory: a.inventory,
		Streams:   &server.Streams,
		Bus:       bus,
		Log:       a.log,
	}
	mayImport := c.Resource != gpushare.Resource // pods of another device plugin may still hold devices
	if mayImport {
		publisher.Ready = a.allocations.AwaitImportsPublished
	}
	a.registrar = &plugin.Registrar{
		Dir:          c.PluginDir,
		Resource:     c.Resource,
		Server:       server,
		Lister:       lister,
		AwaitImports: mayImport,
		Metrics:      metrics,
		Log:          a.log,
	}
	a.group.Add(a.pods.Run, a.allocations.Follow, a.allocations.Run, publisher.Run, a.registrar.Run)
	return nil
}

// server returns the server of the device plugin API.
func (a *app) server(slots *slot.Store, metrics *plugin.Metrics) *plugin.Server {
	server := &plugin.Server{
		Unit:        a.inventory.unit,
		Emulated:    a.inventory.emulated,
		CDI:         a.config.Delivery == config.DeliverCDI,
		Inventory:   a.inventory,
		Allocations: a.allocations,
		Slots:       slots,
		Metrics:     metrics,
		Log:         a.log,
	}
	if a.config.Sharing == config.ShareByMPS {
		server.MPS = a.config.StateDir
	}
	return server
}
