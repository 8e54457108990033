//go:build linux

package cli

import (
	"fmt"
	"os"
	"path/filepath"

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
				"": stock.All(), "controlplane": stock.ControlPlane(), "node": stock.Node(), "registry": stock.Registry(),
			}[only]
			if !ok {
				return fmt.Errorf("--only %q: write controlplane, node or registry", only)
			}
			dir, err := ensureStock(cmd, f.stockDir, programs)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), dir)
			return nil
		},
	}
	f.addStock(cmd.Flags())
	cmd.Flags().StringVar(&only, "only", "", "controlplane, node or registry: build only the programs of that one")
	return cmd
}

// ensureStock returns the folder that holds the programs: the one given, or the cache after building what it lacks.
func ensureStock(cmd *cobra.Command, given string, programs []stock.Program) (string, error) {
	if given != "" {
		dir, err := filepath.Abs(given)
		if missing := stock.Missing(dir, programs); err == nil && len(missing) > 0 {
			return "", fmt.Errorf("--stock-dir %s lacks %s", given, stock.Names(missing))
		}
		return dir, err
	}
	executable, err := os.Executable()
	if err != nil {
		return "", err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	source, err := stock.FindSource(here, filepath.Dir(executable))
	if err != nil {
		return "", err
	}
	cache, err := stock.CacheRoot(os.Getenv)
	if err != nil {
		return "", err
	}
	return stock.Builder{Source: source, Cache: cache, Out: cmd.OutOrStdout()}.Ensure(cmd.Context(), programs)
}
