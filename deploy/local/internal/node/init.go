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

// Run is a node's init. It begins when cable reaches its end (the supervisor has connected the network), writes each
// unexpected end of one of its programs to report, kills and starts kubelet again at each value of restart, and returns
// only on a failure or when ctx ends; with it the kernel ends all that runs in the node.
func (l Layout) Run(ctx context.Context, log *slog.Logger, cable io.Reader, report io.Writer, restart <-chan os.Signal) error {
	if _, err := io.Copy(io.Discard, cable); err != nil {
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
	w := warden{starter: starter, kubelet: l.Kubelet(), runs: true, report: report, log: log}
	return w.keep(ctx, restart)
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

// waitSocket waits until containerd serves: kubelet gives up at once when it does not.
func waitSocket(ctx context.Context, starter *process.Starter, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("containerd does not open %s: %w", socket, ctx.Err())
		case exit := <-starter.Exits():
			return exit
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Import hands an image tar to the containerd that listens on socket.
func Import(ctx context.Context, stock, socket, tar string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(stock, "ctr"), "--address", socket, "--namespace", "k8s.io", "images", "import", tar)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("import %s: %w: %s", tar, err, strings.TrimSpace(string(text)))
	}
	return nil
}
