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

// StartedAgain is how a report about a program that was started again goes on after its name.
const StartedAgain = " started again"

// orphansEvery is how often what containers left behind is collected.
const orphansEvery = 10 * time.Second

// warden watches a node's programs. What ends unasked is reported and stays ended; kubelet alone is killed and started
// again when somebody asks for it, as a crash and a service manager would.
type warden struct {
	starter *process.Starter
	kubelet process.Program
	report  io.Writer
	log     *slog.Logger

	orphans process.Orphans

	runs   bool // kubelet's end was not heard of
	wanted bool // it is to be started again once it is
}

// keep returns when ctx ends, or when kubelet can not be started.
func (w *warden) keep(ctx context.Context, restart <-chan os.Signal) error {
	tick := time.NewTicker(orphansEvery)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			w.orphans.Collect()
		case exit := <-w.starter.Exits():
			err = w.ended(exit)
		case <-restart:
			err = w.again()
		}
		if err != nil {
			return err
		}
	}
}

func (w *warden) ended(exit process.Exit) error {
	if exit.Name == w.kubelet.Name {
		w.runs = false
		if w.wanted {
			return w.start()
		}
	}
	w.log.Error("program ended, it is not restarted", "program", exit.Name, "error", exit.Err)
	fmt.Fprintln(w.report, exit.Error())
	return nil
}

// again kills kubelet, whose end then starts it; one that has ended already is started at once.
func (w *warden) again() error {
	if !w.runs {
		return w.start()
	}
	w.wanted = true
	return w.starter.Running()[w.kubelet.Name].Signal(unix.SIGKILL) // gone meanwhile: then its end is on its way
}

func (w *warden) start() error {
	id, err := w.starter.Start(w.kubelet)
	if err != nil {
		return err
	}
	w.runs, w.wanted = true, false
	w.log.Info("started again", "program", w.kubelet.Name, "pid", id.PID)
	fmt.Fprintln(w.report, w.kubelet.Name+StartedAgain)
	return nil
}
