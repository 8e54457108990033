package install

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// describe says what runs where, and what to do next.
func (k kubectl) describe(ctx context.Context, name string, out io.Writer) error {
	var pods struct{ Items []agent }
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
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "first job: local kubectl --name %s -- apply -f deploy/samples/job.yaml\n", name)
	return err
}
