//go:build linux

package install

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/deploy/local/internal/image"
)

// programs returns the folder of the binaries, after building what is stale. go build itself knows what is.
func (w Wish) programs(ctx context.Context, out io.Writer) (string, error) {
	if w.Programs != "" {
		return filepath.Abs(w.Programs)
	}
	folder := filepath.Join(w.Repository, "bin")
	fmt.Fprintf(out, "building %s into %s\n", strings.Join(image.Binaries(), ", "), folder)
	return folder, Build(ctx, w.Repository, folder)
}

// Build builds the four binaries of the repository into folder, with the flags that the Makefile uses, so that the two
// do not build over each other. The tags keep the C library out where only the network packages would want it: a
// program is then static, unless it speaks to a GPU's driver.
func Build(ctx context.Context, repository, folder string) error {
	args := []string{"build", "-trimpath", "-tags=netgo,osusergo,grpcnotrace",
		"-ldflags=-s -w -X main.version=" + versionOf(ctx, repository), "-o", folder + string(filepath.Separator)}
	for _, name := range image.Binaries() {
		args = append(args, "./"+name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = repository
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binaries (give ready ones with --bin-dir): %w\n%s", err, output)
	}
	return nil
}

func versionOf(ctx context.Context, repository string) string {
	cmd := exec.CommandContext(ctx, "git", "describe", "--tags", "--always", "--dirty")
	cmd.Dir = repository
	out, err := cmd.Output()
	if err != nil {
		return "dev" // not a clone
	}
	return strings.TrimSpace(string(out))
}
