package main

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/trellis-gpu/trellis/coordinator/internal/config"
	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/daemon"
)

// version is set by the linker in a release.
var version = "dev"

func main() { os.Exit(program(&config.Config{}).Main()) }

// program is the coordinator. It runs until a signal, or prints an explanation of a pod (--explain).
func program(c *config.Config) daemon.Program {
	return daemon.Program{
		Name:    "coordinator",
		Version: version,
		About:   config.About,
		Config:  c,
		Run:     func(ctx context.Context, log *slog.Logger) error { return run(ctx, c, log) },
		Actions: map[string]daemon.Action{
			"explain": func(ctx context.Context, out io.Writer, _ *slog.Logger) error { return explainPod(ctx, c, out) },
		},
	}
}

// explainPod asks the running coordinator of this node about a pod.
func explainPod(ctx context.Context, c *config.Config, out io.Writer) error {
	e, err := explain.Ask(ctx, c.HealthListen, c.Explain)
	if err != nil {
		return err
	}
	return explain.Print(out, e, c.Output)
}
