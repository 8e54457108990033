package admin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trellis-gpu/trellis/deploy/local/internal/binaries"
	"github.com/trellis-gpu/trellis/deploy/local/internal/envflags"
	"github.com/trellis-gpu/trellis/deploy/local/internal/install"
	"github.com/trellis-gpu/trellis/deploy/local/internal/registry"
	"github.com/trellis-gpu/trellis/deploy/local/internal/stock"
)

// New builds the command; version is the output of --version.
func New(version string) *cobra.Command {
	root := &cobra.Command{
		Use:   "trellis",
		Short: "Push the images of Trellis and install it into a cluster",
		Long: `trellis builds the images of Trellis and pushes them to a registry, without Docker, and installs
Trellis into the cluster of the current kubeconfig.

Every flag may also be given as an environment variable: --plain-http is TRELLIS_PLAIN_HTTP.`,
		Version:           version,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return envflags.Set(cmd.Flags(), os.LookupEnv) },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(imagesCommand(), installCommand(), uninstallCommand(), CertsCommand())
	return root
}

// targetFlags select the registry.
type targetFlags struct{ target registry.Target }

func (f *targetFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.target.Address, "registry", "", "registry and prefix of the images: HOST[:PORT]/PREFIX")
	flags.StringVar(&f.target.Tag, "tag", "", "tag of the images (default: the version of the working tree)")
	flags.BoolVar(&f.target.PlainHTTP, "plain-http", false, "accept a registry without TLS that is not on a loopback address")
}

// complete sets the default tag and validates the target.
func (f *targetFlags) complete(cmd *cobra.Command, repository string) error {
	if f.target.Tag == "" {
		f.target.Tag = binaries.Version(cmd.Context(), repository)
	}
	return f.target.Validate()
}

// clusterFlags select the cluster and what is installed into it.
type clusterFlags struct {
	kubectl    string
	kubeconfig string
	context    string
	overlay    string
}

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubectl, "kubectl", "kubectl", "kubectl command, with arguments if need be")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: that of kubectl)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig (default: the current one)")
	flags.StringVar(&f.overlay, "overlay", "", "folder of a kustomization that includes deploy/base (default: deploy/base)")
}

func (f *clusterFlags) config() (install.Config, error) {
	repository, err := stock.Repository()
	if err != nil {
		return install.Config{}, err
	}
	words := strings.Fields(f.kubectl)
	if len(words) == 0 {
		return install.Config{}, errors.New("--kubectl is empty: give the name of a program")
	}
	kubectl := install.Kubectl{Program: words[0], Args: words[1:]}
	if f.kubeconfig != "" {
		kubectl.Args = append(kubectl.Args, "--kubeconfig="+f.kubeconfig)
	}
	if f.context != "" {
		kubectl.Args = append(kubectl.Args, "--context="+f.context)
	}
	deploy := filepath.Join(repository, "deploy")
	config := install.Config{Kubectl: kubectl, Deploy: deploy, Overlay: filepath.Join(deploy, "base")}
	if f.overlay != "" {
		config.Overlay = f.overlay
	}
	return config, nil
}
