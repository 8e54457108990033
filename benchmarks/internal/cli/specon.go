package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/clustersim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

type speconOptions struct {
	commit string
	seeds  int
	quick  bool
	strict bool
	scale  bool
	out    string
}

func speconCommand(commit string) *cobra.Command {
	o := speconOptions{commit: commit}
	cmd := &cobra.Command{
		Use:   "specon",
		Short: "Moves of jobs between nodes in virtual time: SpeCon's schedules under SpeCon and under Trellis",
		Long: `specon runs SpeCon's schedules of jobs on 4 and 8 workers in virtual time: with the placement of kube-scheduler and
nothing else, with SpeCon's algorithms as published and as corrected, and with the placement, the policy and the moves that
ship. It prints what each changes for the same jobs, with 95 % intervals, and whom it harms, and writes specon.json.

--scale runs 10,000 jobs on 1,000 nodes with 8 GPUs each instead, once and as they ship, and writes scale.json: what time and
memory that takes on this machine, which must be otherwise idle.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.IntVar(&o.seeds, "seeds", 50, "how often to repeat, each time with other jobs")
	f.BoolVar(&o.quick, "quick", false, "4 seeds of one schedule; with --scale a twentieth of the cluster")
	f.BoolVar(&o.scale, "scale", false, "run one large cluster, for the time and the memory that it takes")
	f.BoolVar(&o.strict, "strict", false, "fail if a goal is not met")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for specon.json or scale.json")
	return cmd
}

func (o *speconOptions) run(cmd *cobra.Command) error {
	if o.scale {
		return o.runScale(cmd)
	}
	schedules := clustersim.Schedules()
	if o.quick {
		o.seeds, schedules = 4, schedules[1:2]
	}
	if o.seeds < 2 || o.seeds > 100_000 {
		return fmt.Errorf("--seeds %d: 2 to 100000", o.seeds)
	}
	began, done := time.Now(), 0
	progress := func(r clustersim.Row) {
		done++
		fmt.Fprintf(cmd.ErrOrStderr(), "%3d  %s, %s: completion %+.1f %%\n", done, r.Schedule.Name, r.System, r.CompletionChange.Value)
	}
	rows, err := clustersim.Run(cmd.Context(), o.seeds, schedules, clustersim.Systems(), progress)
	if err != nil {
		return err
	}
	summary := results.Summary{
		Name: "specon", Quick: o.quick, Commit: o.commit, Date: began.UTC().Truncate(time.Second), Machine: results.ThisMachine(nil),
		Command: results.Command("bench-specon", cmd.Flags(), "out"), Details: rows,
		Settings: map[string]string{"cost of a move": "5 to 11 s of virtual time, 8 s on average"},
	}
	for _, f := range clustersim.Figures(rows) {
		g := results.Goal{Name: f.Name, Value: f.Mean.Value, Low: f.Mean.Low, High: f.Mean.High, Unit: f.Unit}
		if f.Target != nil {
			met := f.Met()
			g.Target, g.Met = f.Target, &met
		}
		summary.Goals = append(summary.Goals, g)
	}
	for seed := range o.seeds {
		summary.Seeds = append(summary.Seeds, uint32(seed+1))
	}
	summary.Took("all", time.Since(began))
	clustersim.Table(cmd.OutOrStdout(), rows)
	err = errors.Join(os.MkdirAll(o.out, 0o755), summary.Write(filepath.Join(o.out, "specon.json")))
	if missed := summary.Missed(); o.strict && len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d goals were missed: %q", len(missed), missed))
	}
	return err
}
