//go:build linux

package node

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
)

// watched is a supervisor over a kubelet and a containerd that only sleep.
type watched struct {
	starter *process.Starter
	restart chan os.Signal
	reports *bufio.Scanner
}

func watch(t *testing.T) watched {
	asleep := func(name string) process.Program {
		return process.Program{Name: name, Path: "/bin/sleep", Args: []string{"60"}, Log: filepath.Join(t.TempDir(), name+".log")}
	}
	read, write := io.Pipe()
	w := watched{starter: process.NewStarter(), restart: make(chan os.Signal, 1), reports: bufio.NewScanner(read)}
	for _, name := range []string{"containerd", "kubelet"} {
		_, err := w.starter.Start(asleep(name))
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		supervisor := supervisor{starter: w.starter, kubelet: asleep("kubelet"), running: true, report: write, log: slog.New(slog.DiscardHandler)}
		done <- supervisor.keep(ctx, w.restart)
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		w.starter.KillAll(10 * time.Second)
	})
	return w
}

func (w watched) report(t *testing.T) string {
	t.Helper()
	require.True(t, w.reports.Scan())
	return w.reports.Text()
}

func (w watched) kill(t *testing.T, name string) process.Identity {
	t.Helper()
	id := w.starter.Running()[name]
	require.NoError(t, id.Signal(unix.SIGKILL))
	return id
}

func TestSupervisor_RestartsKubeletOnRequest(t *testing.T) {
	w := watch(t)
	before := w.starter.Running()
	w.restart <- unix.SIGHUP
	require.Equal(t, "kubelet started again", w.report(t), "and nothing of an end, which was asked for")
	after := w.starter.Running()
	require.NotEqual(t, before["kubelet"], after["kubelet"])
	require.False(t, before["kubelet"].Alive())
	require.True(t, after["kubelet"].Alive())
	require.Equal(t, before["containerd"], after["containerd"])
}

func TestSupervisor_RestartsKubeletOnRequestOnly(t *testing.T) {
	w := watch(t)
	w.kill(t, "kubelet")
	require.Contains(t, w.report(t), "kubelet ended unexpectedly: signal: killed")
	require.NotContains(t, w.starter.Running(), "kubelet")
	w.restart <- unix.SIGHUP
	require.Equal(t, "kubelet started again", w.report(t))
	require.True(t, w.starter.Running()["kubelet"].Alive())
}

func TestSupervisor_RestartsNoOtherProgram(t *testing.T) {
	w := watch(t)
	w.kill(t, "containerd")
	require.Contains(t, w.report(t), "containerd ended unexpectedly")
	w.restart <- unix.SIGHUP
	require.Equal(t, "kubelet started again", w.report(t))
	require.NotContains(t, w.starter.Running(), "containerd")
}

func TestSupervisor_StartsKubeletOnceIfItsEndIsNotReportedYet(t *testing.T) {
	w := watch(t)
	killed := w.kill(t, "kubelet")
	w.restart <- unix.SIGHUP // whichever of the two comes first
	for w.report(t) != "kubelet started again" {
	}
	require.True(t, killed.WaitGone(time.Second))
	require.True(t, w.starter.Running()["kubelet"].Alive())
	w.kill(t, "kubelet")
	require.Contains(t, w.report(t), "ended unexpectedly", "asked for once, it is started once")
}
