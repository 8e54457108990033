package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/oklog/run"
	"github.com/spf13/pflag"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/config"
	"github.com/trellis-gpu/trellis/tuner/internal/election"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/metrics"
	"github.com/trellis-gpu/trellis/tuner/internal/web"
)

// version is set when a release is linked.
var version = "dev"

func main() {
	o, err := config.Parse(os.Args[1:], os.Getenv)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "tuner:", err)
		os.Exit(2)
	case o.Version:
		fmt.Println("tuner", version)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: o.LogLevel}))
	if err := tune(ctx, o, log); err != nil && !errors.Is(err, context.Canceled) {
		log.Error("tuner ends", "reason", err)
		os.Exit(1)
	}
}

// tune runs the parts until one of them fails or ctx ends.
func tune(ctx context.Context, o config.Config, log *slog.Logger) error {
	o.Etcd.Log = log
	state, err := etcdbus.Open(o.Etcd)
	if err != nil {
		return err
	}
	defer state.Close() // nothing of ours hangs on the session
	recorder := history.NewRecorder(state, log)
	counted := metrics.New(recorder, version)
	loop := &advise.Controller{
		Source: recorder, Writer: state, Metrics: counted, Adviser: &advise.Adviser{Policy: loader.DefaultChangePolicy()}, Interval: o.Every, Log: log,
	}
	advising, err := office(o, log, func(ctx context.Context) {
		counted.Leading(true)
		defer counted.Leading(false)
		loop.Run(ctx)
	})
	if err != nil {
		return err
	}

	log.Info("tuner starts", "version", version, "listen", o.Listen, "health", o.HealthListen, "leaderElect", o.LeaderElect)
	var parts run.Group
	for _, part := range []func(context.Context) error{
		recorder.Run,
		advising,
		func(ctx context.Context) error { return web.Serve(ctx, o.Listen, web.Dashboard(recorder)) },
		func(ctx context.Context) error {
			return web.Serve(ctx, o.HealthListen, web.Health(recorder, counted.Handler()))
		},
	} {
		ctx, cancel := context.WithCancel(ctx)
		parts.Add(func() error { return part(ctx) }, func(error) { cancel() })
	}
	return parts.Run()
}

// office returns what runs advise when it is this process's turn: at once, or when elected.
func office(o config.Config, log *slog.Logger, advise func(context.Context)) (func(context.Context) error, error) {
	if !o.LeaderElect {
		return func(ctx context.Context) error { advise(ctx); return context.Cause(ctx) }, nil
	}
	client, err := election.NewClient(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return election.Run(ctx, client, o.LeaseNamespace, log, advise) }, nil
}
