//go:build linux

package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/deploy/local/internal/cluster"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
	"github.com/trellis-gpu/trellis/deploy/local/internal/stock"
)

func upCommand() *cobra.Command {
	var f flags
	var options cluster.Options
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring a cluster up and wait until its nodes are Ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Root, options.Name = state.Root(f.root), f.name
			if err := options.Validate(); err != nil {
				return err
			}
			if err := cluster.CheckMachine(f.root); err != nil {
				return err
			}
			dir, err := stock.Ensure(cmd.Context(), f.stockDir, stock.All(), cmd.OutOrStdout())
			if err != nil {
				return err
			}
			options.Stock = dir
			return cluster.Up(cmd.Context(), options, cmd.OutOrStdout())
		},
	}
	f.addName(cmd.Flags())
	f.addStock(cmd.Flags())
	cmd.Flags().IntVar(&options.Nodes, "nodes", 2, "number of nodes")
	cmd.Flags().IntVar(&options.CPUsPerNode, "cpus-per-node", 1,
		"cores that each node sees and is tied to; nodes share cores where the machine has fewer")
	cmd.Flags().IntVar(&options.NUMANodes, "numa-nodes", 1,
		"NUMA nodes that each node shows to kubelet; 1 shows those of the machine, more divide the node's cores")
	cmd.Flags().IntVar(&options.WithPID, "with-pid", 0, "take the cluster down when this process ends")
	return cmd
}

func downCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Take a cluster down and check that nothing is left of it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			return cluster.Down(cmd.Context(), state.Root(f.root), f.name, cmd.OutOrStdout())
		},
	}
	f.addName(cmd.Flags())
	return cmd
}

func restartCommand() *cobra.Command {
	var f flags
	var node string
	cmd := &cobra.Command{
		Use:   "restart-kubelet",
		Short: "Kill a node's kubelet with -9 and start it again, or start one that has ended; pods go on",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			return cluster.Restart(cmd.Context(), state.Root(f.root), f.name, node, cmd.OutOrStdout())
		},
	}
	f.addName(cmd.Flags())
	cmd.Flags().StringVar(&node, "node", "node-1", "the node")
	return cmd
}

func statusCommand() *cobra.Command {
	var f flags
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say how a cluster is; exit code 1 unless it is up",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			s, err := cluster.GetStatus(cmd.Context(), state.Root(f.root), f.name)
			if err != nil {
				return err
			}
			switch output {
			case "":
				err = s.Print(cmd.OutOrStdout())
			case "json":
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				err = enc.Encode(s)
			default:
				err = fmt.Errorf("--output %q: only json is known", output)
			}
			if err == nil && s.State != string(state.Up) {
				err = fmt.Errorf("cluster %s is %s", f.name, s.State)
			}
			return err
		},
	}
	f.addName(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "", "json: for programs")
	return cmd
}

func listCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the clusters of this machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names, err := state.Root(f.root).Clusters()
			for _, name := range names {
				fmt.Fprintln(cmd.OutOrStdout(), name)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&f.root, "state-root", string(state.DefaultRoot), "folder that holds a folder per cluster")
	return cmd
}
