package mps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// readyTimeout bounds the time until a daemon has created its control pipe, polled at readyPollInterval.
	readyTimeout      = 15 * time.Second
	readyPollInterval = 50 * time.Millisecond
	// minBackoff and maxBackoff bound the delay before a daemon is restarted.
	minBackoff = 500 * time.Millisecond
	maxBackoff = 30 * time.Second
	// stopTimeout bounds the graceful shutdown of a daemon.
	stopTimeout = 5 * time.Second
	// control is the name of the pipe through which clients find a daemon.
	control = "control"
)

// Daemon supervises the MPS control daemon of one GPU.
type Daemon struct {
	GPU growth.GPU
	// Program is nvidia-cuda-mps-control, or a fake in tests.
	Program string
	// Dir is the GPU's directory, with pipe and log below it.
	Dir string
	Log *slog.Logger
	// Changed is called when the daemon becomes ready or stops being ready.
	Changed func()

	mu     sync.Mutex
	ready  bool
	reason string // why the daemon is not ready
	starts int
}

// PipeDir returns the directory that clients of a GPU's daemon need.
func PipeDir(stateDir string, gpu growth.GPU) string {
	return filepath.Join(daemonDir(stateDir, gpu), "pipe")
}

// ShmDir returns the directory that a daemon and its clients mount at /dev/shm.
func ShmDir(stateDir string) string { return filepath.Join(stateDir, "mps", "shm") }

func daemonDir(stateDir string, gpu growth.GPU) string {
	return filepath.Join(stateDir, "mps", filepath.Base(string(gpu)))
}

// State reports whether the daemon serves clients, and if not, why.
func (d *Daemon) State() (bool, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ready, d.reason
}

func (d *Daemon) setState(ready bool, reason string) {
	d.mu.Lock()
	changed := d.ready != ready || d.reason != reason
	d.ready = ready
	d.reason = reason
	d.mu.Unlock()
	if changed && d.Changed != nil {
		d.Changed()
	}
}

// Run keeps the daemon running until ctx ends.
func (d *Daemon) Run(ctx context.Context) error {
	d.setState(false, "its MPS control daemon has not started yet")
	backoff := minBackoff
	for {
		start := time.Now()
		err := d.runOnce(ctx)
		if ctx.Err() != nil {
			return nil
		}
		d.setState(false,
			fmt.Sprintf(
				"its MPS control daemon ended (%v): the CUDA contexts of its jobs are lost, they must be started "+
					"again", err))
		d.Log.Error("an MPS control daemon ended, every job on its GPU has lost its CUDA context", "gpu", d.GPU, "err",
			err)
		if time.Since(start) > maxBackoff {
			backoff = minBackoff
		}
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
			return nil
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// runOnce starts the daemon, waits until it is ready, and then until it ends.
func (d *Daemon) runOnce(ctx context.Context) error {
	pipe := filepath.Join(d.Dir, "pipe")
	logs := filepath.Join(d.Dir, "log")
	if err := os.RemoveAll(pipe); err != nil { // remove the pipe of an earlier daemon
		return err
	}
	for path, mode := range map[string]os.FileMode{d.Dir: 0o711, pipe: 0o755, logs: 0o700} {
		if err := errors.Join(os.MkdirAll(path, mode), os.Chmod(path, mode)); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	command := exec.CommandContext(ctx, d.Program, "-f")
	command.Env = append(os.Environ(),
		"CUDA_VISIBLE_DEVICES="+string(d.GPU), "CUDA_MPS_PIPE_DIRECTORY="+pipe, "CUDA_MPS_LOG_DIRECTORY="+logs)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting %s: %w: is the MPS package of the driver in this container?", d.Program, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	d.Log.Info("started an MPS control daemon", "gpu", d.GPU, "pid", command.Process.Pid)
	if err := awaitPipe(ctx, filepath.Join(pipe, control), ended); err != nil {
		cancel()
		return err
	}
	d.mu.Lock()
	d.starts++
	d.mu.Unlock()
	d.setState(true, "")
	err := <-ended
	if err == nil {
		err = errors.New("it exited")
	}
	return err
}

// awaitPipe waits for the control pipe.
func awaitPipe(ctx context.Context, pipe string, ended chan error) error {
	poll := time.NewTicker(readyPollInterval)
	timeout := time.NewTimer(readyTimeout)
	defer poll.Stop()
	defer timeout.Stop()
	for {
		if _, err := os.Stat(pipe); err == nil {
			return nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("it ended before it was ready: %w", err)
		case <-timeout.C:
			return fmt.Errorf("it did not create a control pipe within %s", readyTimeout)
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}
