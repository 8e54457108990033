// Command coordinator divides one node's CPU among its training jobs by how much each still learns: observe, decide,
// enforce, publish. growth/node decides, and internal/loop carries the decisions out.
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

// version is set when a release is linked.
var version = "dev"

func main() { os.Exit(program(&config.Config{}).Main()) }

// program is the coordinator: it reads its configuration, builds its parts, and runs them; or explains a pod.
func program(c *config.Config) daemon.Program {
	return daemon.Program{
		Name:    "coordinator",
		Version: version,
		About:   config.About,
		Config:  c,
		Run:     func(ctx context.Context, log *slog.Logger) error { return run(ctx, c, log) },
		Actions: map[string]daemon.Action{
			"explain": func(ctx context.Context, out io.Writer, _ *slog.Logger) error {
				e, err := explain.Ask(ctx, c.HealthListen, c.Explain)
				if err != nil {
					return err
				}
				return explain.Print(out, e, c.Output)
			},
		},
	}
}
