//go:build linux

package node

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
)

// Namespaces are the clone flags of a node's init.
const Namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWUTS

// Run is a node's init. It starts when connected reaches its end: the network is ready. It writes each
// unexpected end of a program to report, and restarts kubelet at each value of restart. It returns on a failure or when
// ctx ends; the kernel then ends all processes of the node.
func (l Layout) Run(ctx context.Context, log *slog.Logger, connected io.Reader, report io.Writer, restart <-chan os.Signal) error {
	if _, err := io.Copy(io.Discard, connected); err != nil {
		return fmt.Errorf("wait for the network: %w", err)
	}
	if err := unix.Sethostname([]byte(l.Name)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := l.buildMounts(); err != nil {
		return err
	}
	if err := l.Plan.Enter(l.Name); err != nil {
		return err
	}
	if err := l.writeConfigs(); err != nil {
		return fmt.Errorf("write the node's configuration: %w", err)
	}
	starter := process.NewStarter()
	if err := l.startAll(ctx, log, starter); err != nil {
		return err
	}
	s := supervisor{starter: starter, kubelet: l.Kubelet(), running: true, report: report, log: log}
	return s.keep(ctx, restart)
}

func (l Layout) startAll(ctx context.Context, log *slog.Logger, starter *process.Starter) error {
	for _, p := range []process.Program{l.Containerd(), l.Proxy(), l.Kubelet()} {
		id, err := starter.Start(p)
		if err != nil {
			return err
		}
		log.Info("started", "program", p.Name, "pid", id.PID)
		if p.Name != "containerd" {
			continue
		}
		if err := waitSocket(ctx, starter, Socket); err != nil {
			return err
		}
		if err := Import(ctx, l.Stock, Socket, l.Folder.PauseImage()); err != nil {
			return err
		}
	}
	return nil
}

// waitSocket waits until containerd serves: kubelet exits without it.
func waitSocket(ctx context.Context, starter *process.Starter, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("containerd did not open %s: %w", socket, ctx.Err())
		case exit := <-starter.Exits():
			return exit
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Import loads an image tar into the containerd that listens on socket.
func Import(ctx context.Context, stock, socket, tar string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(stock, "ctr"), "--address", socket, "--namespace", "k8s.io", "images", "import", tar)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("import %s: %w: %s", tar, err, strings.TrimSpace(string(text)))
	}
	return nil
}
