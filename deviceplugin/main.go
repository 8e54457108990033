package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
)

// version is set when a release is linked.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends us at once
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "deviceplugin:", err)
		os.Exit(1)
	}
}

// run is the program: read what was set, list the GPUs, build the parts, and let them live until ctx ends.
func run(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	if c.version {
		fmt.Println("deviceplugin", version)
		return nil
	}
	if err := c.Validate(); err != nil {
		return err
	}
	level, _ := c.level() // validated
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})).With("node", c.node)
	a, err := build(ctx, c, log)
	if err != nil {
		return err
	}
	defer a.close()
	if c.dryRun {
		return a.stock.advertisement().print(os.Stdout, c.output)
	}
	log.Info("starting", "version", version, "gpus", c.gpus, "unit", a.stock.unit.String(), "resource", c.resource, "sharing", c.sharing, "delivery", c.delivery)
	return a.run(ctx)
}
