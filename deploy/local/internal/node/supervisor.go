//go:build linux

package node

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
)

// StartedAgain follows the program's name in the report of a restart.
const StartedAgain = " started again"

// orphanInterval is the time between two collections of orphaned processes.
const orphanInterval = 10 * time.Second

// supervisor watches a node's programs. It reports a program that ends unexpectedly, and does not restart it. On request it
// kills kubelet and starts it again, as a crash and a service manager would.
type supervisor struct {
	starter *process.Starter
	kubelet process.Program
	report  io.Writer
	log     *slog.Logger

	orphans process.Orphans

	running bool // no end of kubelet was reported
	restart bool // start kubelet when its end is reported
}

// keep returns when ctx ends, or when kubelet cannot be started.
func (s *supervisor) keep(ctx context.Context, restart <-chan os.Signal) error {
	tick := time.NewTicker(orphanInterval)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			s.orphans.Collect()
		case exit := <-s.starter.Exits():
			err = s.ended(exit)
		case <-restart:
			err = s.restartKubelet()
		}
		if err != nil {
			return err
		}
	}
}

func (s *supervisor) ended(exit process.Exit) error {
	if exit.Name == s.kubelet.Name {
		s.running = false
		if s.restart {
			return s.start()
		}
	}
	s.log.Error("a program ended, it is not restarted", "program", exit.Name, "err", exit.Err)
	fmt.Fprintln(s.report, exit.Error())
	return nil
}

// restartKubelet kills kubelet; once its exit is reported, it is started again. If kubelet does not run, it is started at
// once.
func (s *supervisor) restartKubelet() error {
	if !s.running {
		return s.start()
	}
	s.restart = true
	return s.starter.Running()[s.kubelet.Name].Signal(unix.SIGKILL) // an error means that its end will be reported
}

func (s *supervisor) start() error {
	id, err := s.starter.Start(s.kubelet)
	if err != nil {
		return err
	}
	s.running, s.restart = true, false
	s.log.Info("started again", "program", s.kubelet.Name, "pid", id.PID)
	fmt.Fprintln(s.report, s.kubelet.Name+StartedAgain)
	return nil
}
