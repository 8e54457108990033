//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/trellis-gpu/trellis/deploy/local/internal/node"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// Load imports image tars into every node's containerd, where kubelet finds them.
func Load(ctx context.Context, root state.Root, name string, tars []string, out io.Writer) error {
	r, err := root.Cluster(name).Read()
	if err != nil {
		return fmt.Errorf("cluster %s: %w", name, err)
	}
	for _, tar := range tars {
		if _, err := os.Stat(tar); err != nil {
			return fmt.Errorf("image: %w", err)
		}
	}
	errs := make([]error, len(r.Plan.Nodes))
	var nodes sync.WaitGroup
	for i, n := range r.Plan.Nodes {
		nodes.Go(func() {
			if !r.Processes[n.Name].Alive() {
				errs[i] = fmt.Errorf("%s does not run", n.Name)
				return
			}
			// The node's own /run is seen through its init.
			socket := fmt.Sprintf("/proc/%d/root%s", r.Processes[n.Name].PID, node.Socket)
			for _, tar := range tars {
				if err := node.Import(ctx, r.Stock, socket, tar); err != nil {
					errs[i] = fmt.Errorf("%s: %w", n.Name, err)
					return
				}
			}
		})
	}
	nodes.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Fprintf(out, "loaded %d image file(s) into %d node(s)\n", len(tars), len(r.Plan.Nodes))
	return nil
}
