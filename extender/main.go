// Command extender answers kube-scheduler: which nodes have room for a job's share of a GPU, how good each place is, and
// it binds the job to the GPUs it has reserved there.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/pflag"

	"github.com/trellis-gpu/trellis/extender/internal/config"
)

// version is set when a release is linked.
var version = "dev"

func main() {
	s, err := config.Parse(os.Args[1:])
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "extender: %v\n", err)
		os.Exit(2)
	case s.Version:
		fmt.Println("extender", version)
		return
	}
	level, _ := s.Level()
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	if err := serve(s, log); err != nil {
		log.Error("the extender ends", "reason", err)
		os.Exit(1)
	}
}
