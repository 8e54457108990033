//go:build linux

package cluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervise starts the supervisor as a process of its own, and waits until the cluster is ready.
func (o Options) supervise(ctx context.Context, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	logPath := o.Root.Cluster(o.Name).Log("supervisor")
	if err := os.MkdirAll(filepath.Dir(logPath), 0o755); err != nil {
		return err
	}
	logFile, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer logFile.Close()
	cmd := exec.Command(self, "supervise", "--name="+o.Name, "--state-root="+string(o.Root))
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = "/", logFile, logFile, []*os.File{write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	write.Close()
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	cancelSignal := context.AfterFunc(ctx, func() {
		fmt.Fprintln(out, "interrupted: taking the cluster down")
		_ = cmd.Process.Signal(unix.SIGTERM)
	})
	defer cancelSignal()
	if ready, reason := follow(read, out); !ready {
		_ = cmd.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("cluster %s did not come up: %s", o.Name, reason)
	}
	return cmd.Process.Release()
}

// The supervisor's messages to `up`, one per line.
const (
	sayPrefix    = "say "
	failedPrefix = "failed "
	readyLine    = "ready"
)

// follow prints the supervisor's messages until the cluster is ready, or has failed for the returned reason.
func follow(progress io.Reader, out io.Writer) (ready bool, reason string) {
	reason = "the supervisor ended without a message"
	lines := bufio.NewScanner(progress)
	for lines.Scan() {
		line := lines.Text()
		if text, ok := strings.CutPrefix(line, sayPrefix); ok {
			fmt.Fprintln(out, "  "+text)
		} else if text, ok := strings.CutPrefix(line, failedPrefix); ok {
			reason = strings.ReplaceAll(text, "\x00", "\n")
		} else if line == readyLine {
			return true, ""
		}
	}
	return false, reason
}
