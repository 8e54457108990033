package binaries

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

// Ensure returns the folder of the binaries: the given one, or bin of the repository after a build. The go command
// rebuilds only what changed.
func Ensure(ctx context.Context, repository, given string, out io.Writer) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	folder := filepath.Join(repository, "bin")
	fmt.Fprintf(out, "building %s into %s\n", strings.Join(image.Binaries(), ", "), folder)
	return folder, Build(ctx, repository, folder)
}

// Build builds the four binaries of the repository into folder. The flags are those of the Makefile, so the two share the
// build cache and give the same bytes. The tags replace the C library's resolver: a program is static unless it loads
// the driver of a GPU.
func Build(ctx context.Context, repository, folder string) error {
	args := []string{"build", "-buildvcs=false", "-trimpath", "-tags=netgo,osusergo,grpcnotrace",
		"-ldflags=-s -w -X main.version=" + Version(ctx, repository), "-o", folder + string(filepath.Separator)}
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

// Version is the version of the repository's working tree, as git describes it.
func Version(ctx context.Context, repository string) string {
	cmd := exec.CommandContext(ctx, "git", "describe", "--tags", "--always", "--dirty")
	cmd.Dir = repository
	out, err := cmd.Output()
	if err != nil {
		return "dev" // not a clone
	}
	return strings.TrimSpace(string(out))
}
