package main

import (
	"context"
	"time"

	"os"
	"strings"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/config"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpucount"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/folders"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/mps"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/plugin"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/usage"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// foldersTimeout is the time in which kubelet must answer at its sockets. Kubelet starts this process, so it is only
// silent while it restarts.
const foldersTimeout = 30 * time.Second

// addKubelet adds the parts that serve kubelet and track what it allocates.
func (p *parts) addKubelet() error {
	c := p.config
	slots, err := slot.Open(c.StateDir)
	if err != nil {
		return err
	}
	p.slots = slots
	lister, err := kubelet.Dial(c.PodResources, c.Resource)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, lister.Close)
	c.Etcd.Log = p.log
	bus, err := etcdbus.Open(c.Etcd)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, bus.Close) // ends the session, and with it the records of this run
	p.pods = pods.New(p.client, c.Node, c.Resource, p.log)
	p.allocations = allocations.New(allocations.Config{
		Node:      c.Node,
		Unit:      p.inventory.unit,
		Kubelet:   lister,
		Pods:      p.pods,
		Slots:     slots,
		Bus:       bus,
		Inventory: p.inventory,
		Boot:      currentBoot(),
		Events:    p.client,
		Metrics:   allocations.NewMetrics(p.registry),
		Log:       p.log,
	})
	metrics := plugin.NewMetrics(p.registry)
	server := p.server(slots, metrics)
	publisher := allocations.Publisher{
		Node:      c.Node,
		Unit:      p.inventory.unit,
		Resource:  c.Resource,
		Emulated:  p.inventory.emulated,
		Computes:  p.inventory.computes,
		MPS:       c.Sharing == config.ShareByMPS,
		Inventory: p.inventory,
		Streams:   &server.Streams,
		Bus:       bus,
		Log:       p.log,
	}
	mayImport := c.Resource != gpushare.Resource // pods of another device plugin may still hold devices
	if mayImport {
		publisher.Ready = p.allocations.AwaitImportsPublished
	}
	pluginDir := folders.PluginDir(c.PluginDir)
	p.registrar = &plugin.Registrar{
		Dir:          pluginDir,
		Resource:     c.Resource,
		Server:       server,
		Lister:       lister,
		AwaitImports: mayImport,
		Metrics:      metrics,
		Log:          p.log,
	}
	count := &gpucount.Plugin{
		Dir:       pluginDir,
		Memory:    c.Resource,
		Inventory: p.inventory,
		Log:       p.log,
	}
	p.group.Add(p.pods.Run, p.allocations.Follow, p.allocations.Run, publisher.Run, p.registrar.Run, count.Run, p.checkFolders)
	return nil
}

// currentBoot returns the id of this boot, or "" if the kernel has none: containers of all boots then count as running.
func currentBoot() string {
	id, err := os.ReadFile(bootID)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// checkFolders ends the process if kubelet's sockets are elsewhere. It returns when the process stops, because the end of
// a part ends the process.
func (p *parts) checkFolders(ctx context.Context) error {
	check := folders.Check{
		PluginDirs:   p.config.PluginDir,
		PodResources: p.config.PodResources,
		Timeout:      foldersTimeout,
	}
	if err := check.Run(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// server returns the server of the device plugin API.
func (p *parts) server(slots *slot.Store, metrics *plugin.Metrics) *plugin.Server {
	server := &plugin.Server{
		Unit:        p.inventory.unit,
		Emulated:    p.inventory.emulated,
		NUMA:        p.config.NUMATopology,
		CDI:         p.config.Delivery == config.DeliverCDI,
		Inventory:   p.inventory,
		Allocations: p.allocations,
		Slots:       slots,
		Metrics:     metrics,
		Log:         p.log,
	}
	if p.config.Sharing == config.ShareByMPS {
		server.MPS = p.config.StateDir
	}
	if p.config.MPSThreads == config.ThreadsByShare {
		server.Threads = mps.Threads{
			StateDir: p.config.StateDir,
			Uptime:   usage.Uptime,
			Holders:  p.allocations.Holders,
			Log:      p.log,
		}.Percent
	}
	return server
}
