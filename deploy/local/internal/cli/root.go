//go:build linux

package cli

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trellis-gpu/trellis/deploy/local/internal/admin"
	"github.com/trellis-gpu/trellis/deploy/local/internal/envflags"
	"github.com/trellis-gpu/trellis/deploy/local/internal/network"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// flags are the flags that several subcommands share.
type flags struct {
	name     string
	root     string
	stockDir string
}

func (f *flags) addName(to *pflag.FlagSet) {
	to.StringVar(&f.name, "name", "trellis", "name of the cluster; every address and name on this machine follows from it")
	to.StringVar(&f.root, "state-root", string(state.DefaultRoot), "folder that holds a folder per cluster")
}

func (f *flags) addStock(to *pflag.FlagSet) {
	to.StringVar(&f.stockDir, "stock-dir", "", "folder with ready stock programs; nothing is built then")
}

func (f *flags) validate() error {
	if err := network.ValidateName(f.name); err != nil {
		return err
	}
	return state.Root(f.root).Validate()
}

// New builds the command; version is the output of --version.
func New(version string) *cobra.Command {
	root := &cobra.Command{
		Use:   "local",
		Short: "A real Kubernetes cluster on this machine, without Docker and without a registry",
		Long: `local runs a stock control plane and real nodes on this Linux machine: etcd, kube-apiserver,
kube-controller-manager, kube-scheduler, and per node a kubelet, containerd and kube-proxy in
namespaces of their own. The programs are built once from their pinned Go modules into a cache.

Every flag may also be given as an environment variable: --stock-dir is TRELLIS_STOCK_DIR.`,
		Version:           version,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return envflags.Set(cmd.Flags(), os.LookupEnv) },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(buildCommand(), upCommand(), downCommand(), restartCommand(), statusCommand(), listCommand(), kubeconfigCommand(),
		kubectlCommand(), loadCommand(), imageCommand(), admin.CertsCommand(), installCommand(), uninstallCommand(),
		superviseCommand(), nodeCommand())
	return root
}

// newLog returns the logger of the detached processes, whose standard error is a log file.
func newLog() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }
