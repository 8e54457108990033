package main

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/trellis-gpu/trellis/daemon"
	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/extender/internal/apiserver"
	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/config"
	"github.com/trellis-gpu/trellis/extender/internal/conflict"
	"github.com/trellis-gpu/trellis/extender/internal/gangs"
	"github.com/trellis-gpu/trellis/extender/internal/gctune"
	"github.com/trellis-gpu/trellis/extender/internal/metrics"
	"github.com/trellis-gpu/trellis/extender/internal/mover"
	"github.com/trellis-gpu/trellis/extender/internal/probes"
	"github.com/trellis-gpu/trellis/extender/internal/reconcile"
	"github.com/trellis-gpu/trellis/extender/internal/recreate"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/extender/internal/webhook"
	"github.com/trellis-gpu/trellis/extender/internal/workers"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/gang"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// run builds the parts and runs them until ctx ends.
func run(ctx context.Context, c *config.Config, log *slog.Logger) error {
	c.Etcd.Log = log
	etcd, err := etcdbus.Open(c.Etcd)
	if err != nil {
		return err
	}
	defer func() { _ = etcd.Close() }()
	group, err := assemble(ctx, c, etcd, log)
	if err != nil {
		return err
	}
	log.Info("starting", "version", version, "listen", c.Listen, "healthListen", c.HealthListen, "policy", c.Policy)
	return group.Run(ctx)
}

// assemble builds the parts. They stop in the order in which they join the group: the server drains before the cache of
// its snapshots stops.
func assemble(ctx context.Context, c *config.Config, etcd *etcdbus.Bus, log *slog.Logger) (*daemon.Group, error) {
	policy, err := placement.NewPolicy(c.Policy, nil)
	if err != nil {
		return nil, err
	}
	resource := corev1.ResourceName(c.Resource)
	nodes := cache.New(etcd, resource, log)
	assumed := &reservations.Assumed{}
	counted := metrics.New(nodes, assumed, scheduler.Outcomes(), reconcile.Kinds(), reconcile.Failures())
	client, err := apiserver.Connect(c.Kube, counted.Waited)
	if err != nil {
		return nil, err
	}
	conflicts := conflict.Detector{Client: client, Resource: resource, Log: log}
	if err := conflicts.Check(ctx); err != nil {
		return nil, err
	}
	factory, api := apiserver.Informers(client), apiserver.API{Client: client}
	store := reservations.Store{Bus: etcd, OverCommitted: counted.Unbalanced}
	decisions := &scheduler.Scheduler{
		Cache:      nodes,
		Policy:     policy,
		PolicyName: c.Policy,
		Store:      store,
		Assumed:    assumed,
		API:        api,
		Budgets:    apiserver.BudgetsOf(factory),
		Resource:   resource,
		Log:        log,
		OnConflict: counted.Conflicted,
	}
	reconciler := &reconcile.Reconciler{
		Cache:      nodes,
		Store:      store,
		Reserver:   decisions,
		Assumed:    assumed,
		Pods:       api,
		Log:        log,
		Repaired:   counted.Repaired,
		Mismatched: counted.Mismatched,
	}

	group, err := daemon.NewGroup(probes.New(nodes, assumed, counted.Registry), c.HealthListen)
	if err != nil {
		return nil, err
	}
	idle := &gctune.IdleTimer{}
	answers, err := listen(c, idle.Wrap(webhook.Handler(decisions, counted, log)), log)
	if err != nil {
		return nil, err
	}
	group.Serve(answers)
	group.Add(conflicts.Run, reconciler.Run)
	addOptions(group, c, client, etcd, decisions, counted, log)
	group.Add(
		func(ctx context.Context) error { return nodes.Inform(ctx, client, factory) },
		nodes.Run,
		nodes.Learn,
		func(ctx context.Context) error { return gctune.Run(ctx, idle.Idle) },
	)
	return group, serveProfiles(group, c.PprofListen)
}

// addOptions adds the parts that act on pods, which are off by default.
func addOptions(
	group *daemon.Group, c *config.Config, client kubernetes.Interface, etcd *etcdbus.Bus, decisions *scheduler.Scheduler,
	counted *metrics.Metrics, log *slog.Logger,
) {
	if c.Recreate {
		recreator := &recreate.Recreator{
			Client:   client,
			Bus:      etcd,
			Resource: decisions.Resource,
			Log:      log,
		}
		group.Add(recreator.Run)
	}
	if c.Gangs {
		placer := &gangs.Placer{
			Client:  client,
			Cluster: decisions.Cache,
			Rooms:   decisions,
			Limits:  gang.DefaultLimits(),
			Log:     log,
			Ended:   counted.GangEnded,
		}
		decisions.Gangs = placer
		counted.GangsWaiting(placer.Waiting)
		group.Add(placer.Run)
	}
	if c.Moves.Any() {
		moves := &mover.Mover{
			Client:      client,
			Bus:         etcd,
			Cluster:     decisions.Cache,
			Unfit:       decisions.Unfit,
			Memory:      decisions,
			Limits:      move.DefaultLimits(),
			Log:         log,
			Mode:        c.Moves,
			Policy:      decisions.Policy,
			Protected:   decisions.Protected,
			SharedPaths: c.SharedPaths,
			Ended:       counted.Moved,
		}
		decisions.Place, decisions.Confirm = moves.Place, moves.Confirm
		group.Add(moves.Run)
	}
	if c.Workers {
		changer := &workers.Changer{
			Client:  client,
			Bus:     etcd,
			Cluster: decisions.Cache,
			Limits:  elastic.DefaultLimits(),
			Log:     log,
		}
		group.Add(changer.Run)
	}
}
