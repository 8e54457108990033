package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/trellis-gpu/trellis/daemon"
	"github.com/trellis-gpu/trellis/tuner/internal/config"
)

// version is set by the linker in a release.
var version = "dev"

func main() { os.Exit(program(config.New(os.Getenv)).Main()) }

// program is the tuner. It runs until a signal.
func program(c *config.Config) daemon.Program {
	return daemon.Program{
		Name:    "tuner",
		Version: version,
		About:   config.About,
		Config:  c,
		Run:     func(ctx context.Context, log *slog.Logger) error { return run(ctx, c, log) },
	}
}
