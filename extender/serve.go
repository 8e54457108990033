package main

import (
	"context"
	"errors"
	"log/slog"
	"syscall"

	"github.com/oklog/run"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/extender/internal/apiserver"
	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/config"
	"github.com/trellis-gpu/trellis/extender/internal/conflict"
	"github.com/trellis-gpu/trellis/extender/internal/gctune"
	"github.com/trellis-gpu/trellis/extender/internal/metrics"
	"github.com/trellis-gpu/trellis/extender/internal/probes"
	"github.com/trellis-gpu/trellis/extender/internal/reconcile"
	"github.com/trellis-gpu/trellis/extender/internal/recreate"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/extender/internal/webhook"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// serve builds the parts and runs them until a signal, or until one of them ends. The group interrupts in the order in
// which the parts were added: readiness fails, HTTP drains, then what answers are decided on stops.
func serve(s config.Config, log *slog.Logger) error {
	s.Etcd.Log = log
	etcd, err := etcdbus.Open(s.Etcd)
	if err != nil {
		return err
	}
	defer func() { _ = etcd.Close() }()
	policy, err := placement.NewPolicy(s.Policy, interference.Prior())
	if err != nil {
		return err
	}

	resource := corev1.ResourceName(s.Resource)
	keeper := cache.NewKeeper(etcd, resource, log)
	held := &reservations.Held{}
	counted := metrics.New(keeper, held, scheduler.Outcomes(), reconcile.Kinds(), reconcile.Failures())
	client, err := apiserver.Connect(s.Kube, counted.Waited)
	if err != nil {
		return err
	}
	rivals := conflict.Watch{Client: client, Resource: resource, Log: log}
	if err := rivals.Once(context.Background()); err != nil {
		return err
	}
	factory, api := apiserver.Informers(client), apiserver.API{Client: client}
	books := reservations.Ledger{Bus: etcd, Unbalanced: counted.Unbalanced}
	p := &probes.Probes{View: keeper, Held: held, Metrics: counted.Registry}
	decider := &scheduler.Decider{
		View: keeper, Policy: policy, PolicyName: s.Policy, Ledger: books, Held: held, API: api,
		Budgets: apiserver.BudgetsOf(factory), Resource: resource, Log: log, Conflicted: counted.Conflicted,
	}
	sweeper := &reconcile.Sweeper{
		View: keeper, Ledger: books, Reserver: decider, Held: held, Pods: api, Log: log, Repaired: counted.Repaired,
		Mismatched: counted.Mismatched,
	}

	var parts run.Group
	parts.Add(run.SignalHandler(context.Background(), syscall.SIGINT, syscall.SIGTERM))
	parts.Add(waiting(p.Stop))
	pauses := &gctune.Pauses{}
	if err := answer(&parts, s, pauses.Around(webhook.Handler(decider, counted, log)), log); err != nil {
		return err
	}
	parts.Add(until(rivals.Run))
	parts.Add(until(sweeper.Run))
	if s.Resubmit {
		parts.Add(until((&recreate.Resubmitter{Client: client, Bus: etcd, Resource: resource, Log: log}).Run))
	}
	parts.Add(until(func(ctx context.Context) error { return keeper.Inform(ctx, client, factory) }))
	parts.Add(until(keeper.Run))
	parts.Add(until(func(ctx context.Context) error { return gctune.Keep(ctx, pauses.Pause) }))
	if err := listen(&parts, s.HealthListen, nil, p.Handler()); err != nil {
		return err
	}
	if s.PprofListen != "" {
		if err := listen(&parts, s.PprofListen, nil, profiles()); err != nil {
			return err
		}
	}
	log.Info("extender serves", "listen", s.Listen, "health", s.HealthListen, "policy", s.Policy, "version", version)
	err = parts.Run()
	if errors.Is(err, run.ErrSignal) {
		log.Info("extender stopped", "reason", err)
		return nil
	}
	return err
}

// until makes an actor of a function that runs until its context ends.
func until(loop func(context.Context) error) (func() error, func(error)) {
	ctx, cancel := context.WithCancel(context.Background())
	return func() error { return loop(ctx) }, func(error) { cancel() }
}

// waiting makes an actor that does nothing but stop.
func waiting(stop func()) (func() error, func(error)) {
	done := make(chan struct{})
	return func() error { <-done; return nil }, func(error) { stop(); close(done) }
}
