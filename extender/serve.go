package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/oklog/run"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/decide"
	"github.com/trellis-gpu/trellis/extender/internal/kube"
	"github.com/trellis-gpu/trellis/extender/internal/ledger"
	"github.com/trellis-gpu/trellis/extender/internal/settings"
	"github.com/trellis-gpu/trellis/extender/internal/sweep"
	"github.com/trellis-gpu/trellis/extender/internal/telemetry"
	"github.com/trellis-gpu/trellis/extender/internal/view"
	"github.com/trellis-gpu/trellis/extender/internal/webhook"
	"github.com/trellis-gpu/trellis/growth/bus/etcdbus"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// drain bounds how long a shutdown waits for answers that are being written.
const drain = 15 * time.Second

// serve builds the parts and runs them until a signal, or until one of them ends. The group interrupts in the order in
// which the parts were added: readiness fails, HTTP drains, then what answers are decided on stops.
func serve(s settings.Settings, log *slog.Logger) error {
	s.Etcd.Log = log
	etcd, err := etcdbus.Open(s.Etcd)
	if err != nil {
		return err
	}
	defer func() { _ = etcd.Close() }()
	client, err := kube.Connect(s.Kube)
	if err != nil {
		return err
	}
	policy, err := placement.Named(s.Policy, interference.Prior())
	if err != nil {
		return err
	}

	resource := corev1.ResourceName(s.Resource)
	keeper := view.NewKeeper(etcd, resource, log)
	factory := kube.Informers(client)
	held, api := &ledger.Held{}, kube.API{Client: client}
	metrics := telemetry.NewMetrics(keeper, held, decide.Outcomes(), sweep.Kinds())
	books := ledger.Ledger{Bus: etcd, Unbalanced: metrics.Unbalanced}
	probes := &telemetry.Probes{View: keeper, Held: held, Metrics: metrics}
	decider := &decide.Decider{
		View: keeper, Policy: policy, PolicyName: s.Policy, Ledger: books, Held: held, API: api,
		Budgets: kube.BudgetsOf(factory), Resource: resource, Log: log, Conflicted: metrics.Conflicted,
	}
	sweeper := &sweep.Sweeper{
		View: keeper, Ledger: books, Reserver: decider, Held: held, Pods: api, Log: log, Repaired: metrics.Repaired,
	}

	var parts run.Group
	parts.Add(run.SignalHandler(context.Background(), syscall.SIGINT, syscall.SIGTERM))
	parts.Add(waiting(probes.Stop))
	if err := listen(&parts, s.Listen, webhook.Handler(decider, metrics, log)); err != nil {
		return err
	}
	parts.Add(until(sweeper.Run))
	parts.Add(until(func(ctx context.Context) error { return keeper.Inform(ctx, factory) }))
	parts.Add(until(keeper.Run))
	if err := listen(&parts, s.HealthListen, probes.Handler()); err != nil {
		return err
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

// listen adds an HTTP server that drains when it is interrupted.
func listen(parts *run.Group, address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	parts.Add(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, func(error) {
		ctx, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		_ = server.Shutdown(ctx)
	})
	return nil
}
