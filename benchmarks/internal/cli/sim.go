package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
)

// quickSeeds is how many seeds --quick runs.
const quickSeeds = 8

type simOptions struct {
	commit string
	seeds  int
	quick  bool
	strict bool
	out    string
}

func simCommand(commit string) *cobra.Command {
	o := simOptions{commit: commit}
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "The share policies in virtual time, against fair sharing: what they gain and whom they harm",
		Long: `sim runs the very code that divides a real node on simulated machines of 1 to 64 cores, where jobs that can use
only some of the cores arrive and end, with exact sizes and with wrong ones. It prints what each policy changes
against fair sharing, with 95 % intervals, and writes sim.json and sim.svg.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.IntVar(&o.seeds, "seeds", 200, "how often to repeat, each time with other jobs")
	f.BoolVar(&o.quick, "quick", false, fmt.Sprintf("%d seeds", quickSeeds))
	f.BoolVar(&o.strict, "strict", false, "fail if a goal is not met")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for sim.json and sim.svg")
	return cmd
}

func (o *simOptions) run(cmd *cobra.Command) error {
	if o.quick {
		o.seeds = quickSeeds
	}
	if o.seeds < 2 || o.seeds > 100_000 {
		return fmt.Errorf("--seeds %d: 2 to 100000", o.seeds)
	}
	began := time.Now()
	cells, err := sim.Study(cmd.Context(), o.seeds, sim.Machines(), sim.Policies())
	if err != nil {
		return err
	}
	report := sim.Report{
		Name: "sim", Quick: o.quick, Commit: o.commit, Date: began.UTC().Truncate(time.Second), Machine: results.ThisMachine(nil),
		Command: results.Command("sim", cmd.Flags(), "out"), Seconds: time.Since(began).Round(time.Second / 10).Seconds(),
		Goals: sim.Goals(cells), Cells: cells,
	}
	for seed := range o.seeds {
		report.Seeds = append(report.Seeds, uint32(seed+1))
	}
	sim.Table(cmd.OutOrStdout(), cells, report.Goals)
	if err := o.write(report); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d seeds in %.0f s. The figures are in %s.\n", o.seeds, report.Seconds, filepath.Join(o.out, "sim.json"))
	for _, g := range report.Goals {
		if o.strict && !*g.Met {
			return errors.New("not every goal was met")
		}
	}
	return nil
}

func (o *simOptions) write(report sim.Report) error {
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("sim.json: %w", err)
	}
	return errors.Join(
		os.MkdirAll(o.out, 0o755),
		os.WriteFile(filepath.Join(o.out, "sim.json"), append(text, '\n'), 0o644),
		os.WriteFile(filepath.Join(o.out, "sim.svg"), []byte(sim.Plot(report.Cells)), 0o644),
	)
}
