package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/trellis-gpu/trellis/daemon"
	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/daemon/httpserver"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/config"
	"github.com/trellis-gpu/trellis/tuner/internal/contention"
	"github.com/trellis-gpu/trellis/tuner/internal/election"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/loaders"
	"github.com/trellis-gpu/trellis/tuner/internal/metrics"
	"github.com/trellis-gpu/trellis/tuner/internal/probes"
	"github.com/trellis-gpu/trellis/tuner/internal/resources"
	"github.com/trellis-gpu/trellis/tuner/internal/runs"
	"github.com/trellis-gpu/trellis/tuner/internal/web"
)

// run builds the parts and runs them until ctx ends.
func run(ctx context.Context, c *config.Config, log *slog.Logger) error {
	c.Etcd.Log = log
	bus, err := etcdbus.Open(c.Etcd)
	if err != nil {
		return err
	}
	defer func() { _ = bus.Close() }()
	group, err := assemble(c, bus, log)
	if err != nil {
		return err
	}
	log.Info("starting", "version", version, "listen", c.Listen, "healthListen", c.HealthListen, "leaderElect", c.Elect())
	return group.Run(ctx)
}

// assemble builds the parts. They stop in the order in which they join the group: the dashboard before its recorder.
func assemble(c *config.Config, bus *etcdbus.Bus, log *slog.Logger) (*daemon.Group, error) {
	recorder := history.NewRecorder(bus, log)
	counted := metrics.New(recorder, version)
	index := runs.NewIndex(bus, log)
	counted.Programs(index.Size)
	group, err := daemon.NewGroup(probes.New(recorder, counted.Registry), c.HealthListen)
	if err != nil {
		return nil, err
	}
	dashboard, err := httpserver.Listen(c.Listen, httpserver.Config{Handler: web.Dashboard(recorder, index, bus), EndStreams: true})
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	learner, memory := &resources.Learner{}, &loaders.Memory{}
	controller := &advise.Controller{
		Source:   recorder,
		Writer:   bus,
		Metrics:  counted,
		Adviser:  &advise.Adviser{Policy: loader.DefaultChangePolicy(), Reallocate: c.Reallocate, Resources: learner, Loaders: memory},
		Interval: c.Interval,
		Log:      log,
	}
	observing := resources.NewController(recorder, bus, learner, log)
	remembering := loaders.NewController(recorder, bus, memory, log)
	learning := contention.NewController(recorder, bus, counted, log)
	merging := &runs.Controller{
		Bus:     bus,
		Index:   index,
		Metrics: counted,
		Log:     log,
		Sharing: c.Sharing,
		Running: func() map[programs.ID]bool {
			snapshot, _ := recorder.Snapshot()
			return snapshot.Programs()
		},
	}
	leader, err := elected(c, log, func(ctx context.Context) {
		counted.Leading(true)
		defer counted.Leading(false)
		learner.Begin() // before the controller asks it
		var parts sync.WaitGroup
		parts.Go(func() { controller.Run(ctx) })
		parts.Go(func() { learning.Run(ctx) })
		parts.Go(func() { observing.Run(ctx) })
		parts.Go(func() { remembering.Run(ctx) })
		parts.Go(func() { merging.Run(ctx) })
		parts.Wait()
	})
	if err != nil {
		return nil, err
	}
	group.Serve(dashboard)
	group.Add(leader, recorder.Run, index.Run)
	return group, nil
}

// elected returns a part that runs lead while this replica is the leader, or always without leader election.
func elected(c *config.Config, log *slog.Logger, lead func(context.Context)) (func(context.Context) error, error) {
	if !c.Elect() {
		return func(ctx context.Context) error { lead(ctx); return context.Cause(ctx) }, nil
	}
	client, err := election.NewClient(c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return election.Run(ctx, client, c.LeaseNamespace, log, lead) }, nil
}
