// Command benchmarks runs real training jobs on a Kubernetes with Trellis and measures the results.
// Begin with `benchmarks demo`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cli"
)

// version is set when building.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the run and cleans up; a second one then kills.
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Main(ctx, version))
}
