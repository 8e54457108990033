package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// New builds the command. version is the version of the build.
func New(version string) *cobra.Command {
	commit := results.Commit(version)
	root := &cobra.Command{
		Use:   "benchmarks",
		Short: "Run real training jobs on a Kubernetes with Trellis, and measure the results",
		Long: `benchmarks runs real PyTorch jobs on a Kubernetes with Trellis, shows what happens, and writes
tables, a plot and figures to a results folder.

Every flag may also be given as an environment variable: --gpus is TRELLIS_GPUS.`,
		Version:       commit,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return fromEnvironment(cmd.Flags(), os.LookupEnv)
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(demoCommand(commit), simCommand(commit), submitCommand(), extenderCommand(commit), nullCommand(), devicepluginCommand(commit), stormCommand(commit), flowconCommand(commit), interferenceCommand(commit), predictCommand(commit), tuneCommand(commit), memoryCommand(commit), deadlineCommand(commit), speconCommand(commit), speconRealCommand(commit), resultsCommand())
	return root
}

// fromEnvironment sets flags that were not given from their environment variables.
func fromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var problems []error
	flags.VisitAll(func(f *pflag.Flag) {
		variable := "TRELLIS_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if f.Name == "kubeconfig" {
			variable = "KUBECONFIG"
		}
		value, ok := lookup(variable)
		if !ok || value == "" || f.Changed || f.Name == "help" || f.Name == "version" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", variable, err))
		}
	})
	return errors.Join(problems...)
}
