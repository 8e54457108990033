package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

func resultsCommand() *cobra.Command {
	var from, out string
	var check bool
	cmd := &cobra.Command{
		Use:   "results",
		Short: "Write what was measured and is published as tables",
		Long: `results reads the figures that benchmarks have left as JSON in a folder and writes them to one page of tables. To publish
what a benchmark has left in benchmarks/results, copy it there first; what is of a quick run is refused.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := results.Published(os.DirFS(from))
			if err != nil {
				return fmt.Errorf("%s: %w", from, err)
			}
			var page bytes.Buffer
			if err := results.Page(&page, all); err != nil {
				return err
			}
			if !check {
				return os.WriteFile(out, page.Bytes(), 0o644)
			}
			if is, err := os.ReadFile(out); err != nil || !bytes.Equal(is, page.Bytes()) {
				return fmt.Errorf("%s is not what %s says: make results writes it", out, from)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", filepath.Join("benchmarks", "measured"), "folder of the figures")
	f.StringVar(&out, "out", filepath.Join("benchmarks", "RESULTS.md"), "the page")
	f.BoolVar(&check, "check", false, "write nothing, and fail if the page is not up to date")
	return cmd
}
