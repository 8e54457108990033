//go:build linux

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/deploy/local/internal/stock"
)

func buildCommand() *cobra.Command {
	var f flags
	var only string
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build the stock programs into the cache, once",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			programs, ok := map[string][]stock.Program{
				"":             stock.All(),
				"controlplane": stock.ControlPlane(),
				"node":         stock.Node(),
				"registry":     stock.Registry(),
				"kueue":        stock.Kueue(),
				"vpa":          stock.VPA(),
				"jobset":       stock.JobSet(),
				"pytorchjob":   stock.PyTorchJob(),
				"older":        stock.Older(),
			}[only]
			if !ok {
				return fmt.Errorf("--only %q: write controlplane, node, registry, kueue, vpa, jobset, pytorchjob or older", only)
			}
			dir, err := stock.Ensure(cmd.Context(), f.stockDir, programs, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), dir)
			return nil
		},
	}
	f.addStock(cmd.Flags())
	cmd.Flags().StringVar(&only, "only", "", "controlplane, node, registry, kueue, vpa, jobset, pytorchjob or older: build only the programs of that one")
	return cmd
}
