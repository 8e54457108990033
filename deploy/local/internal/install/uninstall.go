package install

import (
	"context"
	"fmt"
	"io"
)

// Uninstall removes Trellis from the cluster, with its namespace and the volume of the bus. Running jobs continue; their
// GPU memory is no longer accounted. It waits up to the timeout for the objects to be gone. A dry run prints what would be
// deleted.
func (c Config) Uninstall(ctx context.Context, dryRun bool, out io.Writer) error {
	options := []string{"--ignore-not-found"}
	switch {
	case dryRun:
		options = append(options, "--dry-run=server")
	case c.Timeout > 0:
		options = append(options, "--timeout="+c.Timeout.String())
	default:
		options = append(options, "--wait=false")
	}
	capabilities, err := c.Kubectl.capabilities(ctx)
	if err != nil {
		return err
	}
	// Policies first: those of older versions refuse every pod once the ConfigMap that they read is gone.
	for _, kinds := range clusterKinds {
		args := append([]string{"delete", capabilities.kinds(kinds), "--selector=" + ownedLabel}, options...)
		if err := c.Kubectl.show(ctx, out, args...); err != nil {
			return err
		}
	}
	args := append([]string{"delete", "rolebindings", "--namespace=kube-system", "--selector=" + ownedLabel}, options...)
	if err := c.Kubectl.show(ctx, out, args...); err != nil {
		return err
	}
	// Then all other objects, including those of older installations without the label.
	manifests, err := c.Kubectl.run(ctx, nil, "kustomize", c.Overlay)
	if err != nil {
		return err
	}
	args = append([]string{"delete", "-f", "-"}, options...)
	if err := c.Kubectl.showWithInput(ctx, out, capabilities.Adapt(manifests), args...); err != nil {
		return err
	}
	if !dryRun {
		fmt.Fprintln(out, "Trellis is removed; running jobs continue")
	}
	return nil
}
