package main

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/trellis-gpu/trellis/daemon"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/config"
)

// version is set by the linker in a release.
var version = "dev"

func main() { os.Exit(program(&config.Config{}).Main()) }

// program is the device plugin. It runs until a signal, or prints what it would advertise (--dry-run).
func program(c *config.Config) daemon.Program {
	return daemon.Program{
		Name:    "deviceplugin",
		Version: version,
		About:   config.About,
		Config:  c,
		Run:     func(ctx context.Context, log *slog.Logger) error { return run(ctx, c, log.With("node", c.Node)) },
		Actions: map[string]daemon.Action{
			"dry-run": func(ctx context.Context, out io.Writer, log *slog.Logger) error { return dryRun(ctx, c, out, log) },
		},
	}
}
