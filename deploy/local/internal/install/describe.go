package install

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// describe prints the pods of Trellis and the GPU memory of each node.
func (k Kubectl) describe(ctx context.Context, resource string, out io.Writer) error {
	var pods struct{ Items []pod }
	if err := k.get(ctx, &pods, "pods", "-n", Namespace); err != nil {
		return err
	}
	var nodes struct{ Items []gpuNode }
	if err := k.get(ctx, &nodes, "nodes", "-l", gpushare.NodeLabel+"=true"); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  POD\tNODE\tPHASE")
	for _, p := range pods.Items {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", p.Metadata.Name, p.Spec.NodeName, p.Status.Phase)
	}
	for _, n := range nodes.Items {
		fmt.Fprintf(table, "  GPU memory\t%s\t%s GiB\n", n.Metadata.Name, n.Status.Allocatable[resource])
	}
	return table.Flush()
}
