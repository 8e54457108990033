package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// again compares the run of a figures file with what the simulator says now.
func (o *speconRealOptions) again(cmd *cobra.Command) error {
	text, err := os.ReadFile(o.from)
	if err != nil {
		return err
	}
	var details speconRealDetails
	summary := results.Summary{Details: &details}
	if err := json.Unmarshal(text, &summary); err != nil {
		return fmt.Errorf("%s: %w", o.from, err)
	}
	if summary.Name != "specon-real" || summary.Settings == nil {
		return fmt.Errorf("%s is not a figures file of this benchmark", o.from)
	}
	if o.local.Nodes, err = strconv.Atoi(summary.Settings["nodes"]); err != nil || !o.possible() {
		return fmt.Errorf("%s does not say how many nodes there were", o.from)
	}
	if summary.Goals, err = o.compare(cmd, &details); err != nil {
		return fmt.Errorf("%s: %w", o.from, err)
	}
	summary.Settings["simulated at"], summary.Settings["simulated runs"] = o.commit, strconv.Itoa(o.runs)
	return o.write(cmd, summary)
}
