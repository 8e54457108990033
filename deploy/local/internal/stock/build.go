package stock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// Builder builds programs into a cache.
type Builder struct {
	Source string    // the folder deploy/local
	Cache  string    // see CacheRoot
	Out    io.Writer // progress, for a person
}

// Ensure returns the folder that holds the programs, after building those that it does not hold yet.
func (b Builder) Ensure(ctx context.Context, programs []Program) (string, error) {
	version, err := b.goVersion(ctx)
	if err != nil {
		return "", err
	}
	key, err := Key(b.Source, version, programs)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.Cache, "stock", key)
	if len(Missing(dir, programs)) == 0 {
		return dir, nil
	}
	lock, err := state.Acquire(ctx, filepath.Join(dir, ".lock"), func() {
		fmt.Fprintln(b.Out, "another build is running; waiting for it")
	})
	if err != nil {
		return "", err
	}
	defer lock.Release()
	return dir, b.buildAll(ctx, dir, Missing(dir, programs))
}

// buildAll builds one program after the other: each build uses all cores.
func (b Builder) buildAll(ctx context.Context, dir string, programs []Program) error {
	var left time.Duration
	for _, p := range programs {
		left += p.Cold
	}
	if len(programs) > 0 {
		fmt.Fprintf(b.Out, "building %d stock programs once, into %s (about %s on two cores, plus downloads)\n", len(programs), dir, round(left))
	}
	begin := time.Now()
	for i, p := range programs {
		fmt.Fprintf(b.Out, "[%d/%d] %s (%s so far, about %s to go)\n", i+1, len(programs), p.Name, round(time.Since(begin)), round(left))
		if err := b.build(ctx, dir, p); err != nil {
			return err
		}
		left -= p.Cold
	}
	if len(programs) > 0 {
		fmt.Fprintf(b.Out, "built %s in %s\n", Names(programs), round(time.Since(begin)))
	}
	return nil
}

// build writes the program to a temporary file and renames it, so that a program that exists is complete.
func (b Builder) build(ctx context.Context, dir string, p Program) error {
	half := filepath.Join(dir, "."+p.Name+".building")
	defer os.Remove(half)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", p.LDFlags, "-tags", p.Tags, "-o", half, p.Package)
	cmd.Dir = filepath.Join(b.Source, p.Module)
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	stopProgress := b.showProgress(p.Name)
	out, err := cmd.CombinedOutput()
	stopProgress()
	if ctx.Err() != nil {
		return fmt.Errorf("build of %s: %w", p.Name, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", p.Name, err, tail(string(out), 20))
	}
	return os.Rename(half, filepath.Join(dir, p.Name))
}

// showProgress prints a line every 15 seconds until it is stopped.
func (b Builder) showProgress(name string) (stop func()) {
	const interval = 15 * time.Second
	begin, done, gone := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-done:
				return
			case <-time.After(interval):
				fmt.Fprintf(b.Out, "      %s: still building after %s\n", name, round(time.Since(begin)))
			}
		}
	}()
	return func() { close(done); <-gone }
}

// goVersion is the version of the toolchain of the pinned modules, in any working directory.
func (b Builder) goVersion(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	cmd.Dir, cmd.Env = b.Source, append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", errors.New("the stock programs are built with Go, which is not on the PATH: install Go 1.26 or newer, or give ready programs with --stock-dir")
	}
	if err != nil {
		return "", fmt.Errorf("read the version of Go: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func round(d time.Duration) time.Duration { return max(d, 0).Round(time.Second) }

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
