package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/jobs"
)

// record runs a script of benchmarks/jobs that measures on this machine, and replaces a file of recorded data by what it writes.
func record(ctx context.Context, python, script, to string, quick bool) error {
	folder, err := os.MkdirTemp("", "record-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := jobs.WriteScripts(folder); err != nil {
		return err
	}
	program := exec.CommandContext(ctx, python, filepath.Join(folder, script))
	program.Cancel = func() error { return program.Process.Signal(os.Interrupt) } // it ends its jobs
	program.WaitDelay = 10 * time.Second
	if quick {
		program.Args = append(program.Args, "--quick")
	}
	program.Stderr = os.Stderr
	text, err := program.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", script, err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
