//go:build linux

package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/deploy/local/internal/cgroup"
	"github.com/trellis-gpu/trellis/deploy/local/internal/controlplane"
	"github.com/trellis-gpu/trellis/deploy/local/internal/node"
	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// systemGroup is the part of the cluster's cgroup branch for everything that is not a pod.
const systemGroup = "system"

// Supervisor starts the programs of a cluster and ends them.
type Supervisor struct {
	root     state.Root
	folder   state.Folder
	record   state.Record
	branch   cgroup.Branch
	layout   controlplane.Layout
	starter  *process.Starter
	reports  chan string // from nodes: one of their programs has ended
	progress *os.File    // to `up`; closed after the result
	log      *slog.Logger
}

// Supervise brings the prepared cluster up, keeps it until ctx or the process of --with-pid ends, and takes it down.
func Supervise(ctx context.Context, root state.Root, name string, progress *os.File, log *slog.Logger) error {
	folder := root.Cluster(name)
	record, err := folder.Read()
	if err != nil {
		return err
	}
	s := &Supervisor{root: root, folder: folder, record: record, starter: process.NewStarter(),
		reports: make(chan string, 64), progress: progress, log: log}
	s.layout = controlplane.Layout{Plan: record.Plan, Folder: folder, Stock: record.Stock}
	err = s.bringUp(ctx)
	if err == nil {
		s.send(readyLine)
		progress.Close()
		s.keep(ctx)
	} else {
		log.Error("bring-up failed", "err", err)
	}
	down := s.takeDown()
	if err != nil {
		s.send(failedPrefix + strings.ReplaceAll(err.Error(), "\n", "\x00"))
		progress.Close()
	}
	return errors.Join(err, down)
}

func (s *Supervisor) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.log.Info("progress", "step", text)
	s.send(sayPrefix + text)
}

func (s *Supervisor) send(line string) { _, _ = fmt.Fprintln(s.progress, line) }

// keep watches the programs until the cluster must end.
func (s *Supervisor) keep(ctx context.Context) {
	owner := make(chan struct{})
	if s.record.WithPID != nil {
		go func() {
			for !s.record.WithPID.WaitGone(time.Minute) {
			}
			close(owner)
		}()
	}
	for {
		select {
		case <-ctx.Done():
			s.log.Info("the cluster was asked to end")
			return
		case <-owner:
			s.log.Info("the process that this cluster was started for has ended", "pid", s.record.WithPID.PID)
			return
		case exit := <-s.starter.Exits():
			s.noteEnd(exit.Name, exit.Error())
		case report := <-s.reports:
			s.noteReport(report)
		}
	}
}

// noteReport records a report of a node about one of its programs.
func (s *Supervisor) noteReport(report string) {
	if program, again := strings.CutSuffix(report, node.StartedAgain); again {
		s.noteRestart(program)
		return
	}
	program, _, _ := strings.Cut(report, " ended")
	s.noteEnd(program, report)
}

// noteRestart records that a program was restarted by request and is no longer missing.
func (s *Supervisor) noteRestart(program string) {
	s.log.Info("a program was restarted", "program", program)
	if s.record.Restarted == nil {
		s.record.Restarted = map[string]int{}
	}
	s.record.Restarted[program]++
	delete(s.record.Ended, program)
	s.write()
}

// noteEnd records the unexpected end of a program. It is not restarted, so that the loss is visible.
func (s *Supervisor) noteEnd(program, how string) {
	s.log.Error("a program ended, it is not restarted", "program", program, "err", how)
	if s.record.Ended == nil {
		s.record.Ended = map[string]string{}
	}
	s.record.Ended[program] = how
	s.write()
}

func (s *Supervisor) write() {
	if err := s.folder.Write(s.record); err != nil {
		s.log.Error("cannot write the record", "err", err)
	}
}

// takeDown ends every program and deletes everything, including the folder of this process.
func (s *Supervisor) takeDown() error {
	s.record.Phase = state.Stopping
	_ = s.folder.Write(s.record)
	s.starter.KillAll(exitTimeout)
	if err := s.branch.Leave(); err != nil {
		s.log.Error("cannot leave the cluster's cgroup", "err", err)
	}
	err := CleanUp(s.root, s.record.Plan.Cluster)
	// Remove the lock unless a `down` of the same cluster holds it.
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if lock, lockErr := s.root.LockCluster(ctx, s.record.Plan.Cluster, func() {}); lockErr == nil {
		lock.ReleaseAndRemove()
		_ = os.Remove(string(s.root))
	}
	return err
}

// readReports forwards the reports of a node.
func (s *Supervisor) readReports(node string, from io.ReadCloser) {
	defer from.Close()
	for lines := bufio.NewScanner(from); lines.Scan(); {
		s.reports <- node + "/" + lines.Text()
	}
}

// whileUpLives cancels the context when `up` ends, which closes the other end of the progress pipe.
func whileUpLives(ctx context.Context, progress *os.File) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	fd := int32(progress.Fd())
	go func() {
		for ctx.Err() == nil {
			n, err := unix.Poll([]unix.PollFd{{Fd: fd}}, 500)
			if n > 0 && err == nil {
				cancel(errors.New("the process that asked for this cluster has ended"))
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}
