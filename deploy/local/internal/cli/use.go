//go:build linux

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/deploy/local/internal/cluster"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

func kubeconfigCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := f.read(); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), state.Root(f.root).Cluster(f.name).Kubeconfig("admin"))
			return nil
		},
	}
	f.addName(cmd.Flags())
	return cmd
}

func kubectlCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "kubectl -- ARGS…",
		Short: "Run the cluster's kubectl",
		RunE: func(_ *cobra.Command, args []string) error {
			record, err := f.read()
			if err != nil {
				return err
			}
			kubeconfig := state.Root(f.root).Cluster(f.name).Kubeconfig("admin")
			kubectl := filepath.Join(record.Stock, "kubectl")
			argv := append([]string{"kubectl", "--kubeconfig=" + kubeconfig}, args...)
			return fmt.Errorf("run %s: %w", kubectl, syscall.Exec(kubectl, argv, os.Environ()))
		},
	}
	f.addName(cmd.Flags())
	return cmd
}

func loadCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "load TAR…",
		Short: "Import image tars into every node",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, tars []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			return cluster.Load(cmd.Context(), state.Root(f.root), f.name, tars, cmd.OutOrStdout())
		},
	}
	f.addName(cmd.Flags())
	return cmd
}

func (f *flags) read() (state.Record, error) {
	if err := f.validate(); err != nil {
		return state.Record{}, err
	}
	r, err := state.Root(f.root).Cluster(f.name).Read()
	if err != nil {
		return r, fmt.Errorf("cluster %s: %w (local up --name %s)", f.name, err, f.name)
	}
	return r, nil
}
