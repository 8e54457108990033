// Command coordinator divides one node's CPU among its training jobs by how much each still learns: observe, decide,
// enforce, publish. See internal/loop for how, and growth/flowcon and growth/efficiency for what is decided.
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

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
)

// version is set when building.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := start(ctx, os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "coordinator:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.version {
		fmt.Println("coordinator", version)
		return nil
	}
	if o.explain != "" {
		e, err := explain.Ask(ctx, o.health, o.explain)
		if err != nil {
			return err
		}
		return explain.Print(os.Stdout, e, explain.Format(o.output))
	}
	level, _ := o.level() // parse has validated it
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	parts, err := assemble(o, log)
	if err != nil {
		return err
	}
	log.Info("coordinating", "node", o.node, "policy", o.policy, "interval", o.interval.String(), "version", version)
	var group run.Group
	for _, actor := range parts.actors() {
		ctx, cancel := context.WithCancel(ctx)
		group.Add(func() error { return actor(ctx) }, func(error) { cancel() })
	}
	err = group.Run()
	parts.close()
	return err
}
