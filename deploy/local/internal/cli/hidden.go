//go:build linux

package cli

import (
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/deploy/local/internal/cgroup"
	"github.com/trellis-gpu/trellis/deploy/local/internal/cluster"
	"github.com/trellis-gpu/trellis/deploy/local/internal/node"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// superviseCommand is the process that `up` starts. It writes progress to descriptor 3, a pipe that `up` reads.
func superviseCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:    "supervise",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cluster.Supervise(cmd.Context(), state.Root(f.root), f.name, inherited(3), newLog())
		},
	}
	f.addName(cmd.Flags())
	return cmd
}

// nodeCommand is a node's init, which the supervisor starts. The supervisor closes the other end of descriptor 3 when the
// network is connected. The init writes reports to descriptor 4.
func nodeCommand() *cobra.Command {
	var f flags
	var name string
	cmd := &cobra.Command{
		Use:    "node",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder := state.Root(f.root).Cluster(f.name)
			record, err := folder.Read()
			if err != nil {
				return err
			}
			branch, err := cgroup.BranchOf(f.name)
			if err != nil {
				return err
			}
			layout, err := node.NewLayout(folder, record, name, branch.Path(name))
			if err != nil {
				return err
			}
			restart := make(chan os.Signal, 1)
			signal.Notify(restart, cluster.RestartKubelet)
			return layout.Run(cmd.Context(), newLog(), inherited(3), inherited(4), restart)
		},
	}
	f.addName(cmd.Flags())
	cmd.Flags().StringVar(&name, "node", "", "the node")
	return cmd
}

// inherited opens a descriptor that the parent passed, and marks it close-on-exec: a pipe ends only when no process
// has it open any more.
func inherited(fd int) *os.File {
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "inherited")
}
