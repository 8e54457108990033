//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// Down takes a cluster down and checks that nothing is left of it.
func Down(ctx context.Context, root state.Root, name string, out io.Writer) error {
	lock, err := root.LockCluster(ctx, name, func() {
		fmt.Fprintf(out, "cluster %s is being brought up or down by another process; waiting\n", name)
	})
	if err != nil {
		return err
	}
	r, err := root.Cluster(name).Read()
	none := errors.Is(err, state.ErrNone)
	switch {
	case none && len(Remnants(root, name)) == 0:
		fmt.Fprintf(out, "there is no cluster %s\n", name)
	case none:
		fmt.Fprintf(out, "cluster %s has no record; cleaning up by name\n", name)
	case err != nil:
		fmt.Fprintf(out, "%v; cleaning up by name\n", err)
	case !r.Supervisor.Alive():
		fmt.Fprintf(out, "the supervisor of cluster %s is gone; cleaning up after it\n", name)
	default:
		fmt.Fprintf(out, "taking cluster %s down\n", name)
		stop(r.Supervisor)
	}
	if err := remove(root, name, lock); err != nil {
		return err
	}
	if !none {
		fmt.Fprintf(out, "cluster %s is down; nothing is left of it\n", name)
	}
	return nil
}

// stop asks a supervisor to take its cluster down, and kills it after a timeout.
func stop(supervisor process.Identity) {
	const limit = 40 * time.Second
	_ = supervisor.Signal(unix.SIGTERM)
	if !supervisor.WaitGone(limit) {
		_ = supervisor.Signal(unix.SIGKILL)
		supervisor.WaitGone(limit)
	}
}

// remove cleans up, checks the result, and deletes the cluster's lock and the root folder if they are no longer used.
func remove(root state.Root, name string, lock *state.Lock) error {
	err := CleanUp(root, name)
	if left := Remnants(root, name); len(left) > 0 {
		lock.Release()
		return errors.Join(err, fmt.Errorf("left of cluster %s:\n  %s", name, strings.Join(left, "\n  ")))
	}
	lock.ReleaseAndRemove()
	_ = os.Remove(string(root)) // fails unless it is empty
	return err
}
