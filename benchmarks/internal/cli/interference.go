package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/interference"
	"github.com/trellis-gpu/trellis/benchmarks/internal/placementsim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	model "github.com/trellis-gpu/trellis/growth/interference"
)

type interferenceOptions struct {
	commit   string
	seeds    int
	quick    bool
	strict   bool
	measure  bool
	python   string
	recorded string
	out      string
}

func interferenceCommand(commit string) *cobra.Command {
	o := interferenceOptions{commit: commit}
	cmd := &cobra.Command{
		Use:   "interference",
		Short: "How well the slowdown of unseen pairs and triples of jobs is predicted",
		Long: `interference predicts the slowdown of sets of jobs on one GPU that the model has not seen, and compares that with what is
true: measured speeds of the example jobs on the core of an emulated GPU, the pairs that IADeep published, and invented
worlds. It also places jobs on eight GPUs in virtual time, by the model as it is learned and by other rules. It writes
interference.json.

--measure first records the speeds on this machine, which must be otherwise idle: nine minutes, with Python, PyTorch and
scikit-learn.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.IntVar(&o.seeds, "seeds", 200, "number of invented worlds, and of workloads that are placed")
	f.BoolVar(&o.quick, "quick", false, fmt.Sprintf("%d seeds, and a short measurement", quickSeeds))
	f.BoolVar(&o.strict, "strict", false, "fail if a goal is not met")
	f.BoolVar(&o.measure, "measure", false, "record the speeds of the example jobs first")
	f.StringVar(&o.python, "python", "/usr/bin/python3", "Python with PyTorch and scikit-learn, for --measure")
	f.StringVar(&o.recorded, "recorded", filepath.Join("benchmarks", "measured", "interference.csv"), "file with the recorded speeds")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for interference.json")
	return cmd
}

func (o *interferenceOptions) run(cmd *cobra.Command) error {
	if o.quick {
		o.seeds = quickSeeds
	}
	if o.quick && o.measure && !cmd.Flags().Changed("recorded") {
		o.recorded = filepath.Join(o.out, "interference.csv") // a short measurement is not published
	}
	if o.seeds < 2 || o.seeds > 100_000 {
		return fmt.Errorf("--seeds %d: 2 to 100000", o.seeds)
	}
	began := time.Now()
	if o.measure {
		if err := record(cmd.Context(), o.python, "speeds.py", o.recorded, o.quick); err != nil {
			return err
		}
	}
	recorded, err := o.read()
	if err != nil {
		return err
	}
	studies, err := interference.Studies(o.seeds, recorded)
	if err != nil {
		return err
	}
	placements, err := placementsim.Studies(o.seeds, recorded)
	if err != nil {
		return fmt.Errorf("%s: %w; record it again by --measure", o.recorded, err)
	}
	summary := results.Summary{
		Name: "interference", Quick: o.quick, Commit: o.commit, Date: began.UTC().Truncate(time.Second), Machine: results.ThisMachine(nil),
		Command: results.Command("bench-interference", cmd.Flags(), "out", "recorded", "python"),
		Settings: map[string]string{
			"recorded sets": strconv.Itoa(len(recorded)), "GPU of the recorded sets": "emulated compute", "invented worlds": strconv.Itoa(o.seeds),
		},
		Goals:   append(interference.Goals(studies), placementGoals(placements)...),
		Details: map[string]any{"predictions": studies, "placement": placements},
	}
	for seed := range o.seeds {
		summary.Seeds = append(summary.Seeds, uint32(seed+1))
	}
	summary.Took("all", time.Since(began))
	err = errors.Join(results.Table(cmd.OutOrStdout(), summary.Goals), os.MkdirAll(o.out, 0o755),
		summary.Write(filepath.Join(o.out, "interference.json")))
	if missed := summary.Missed(); o.strict && len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d goals were missed: %q", len(missed), missed))
	}
	return err
}

// placementGoals returns the figures of placement.
func placementGoals(studies []placementsim.Study) []results.Goal {
	var goals []results.Goal
	for _, f := range placementsim.Figures(studies) {
		g := results.Goal{
			Name:  f.Name,
			Value: f.Value,
			Low:   f.Low,
			High:  f.High,
			Unit:  "%",
		}
		if f.Target != nil {
			met := f.Met()
			g.Target, g.Met = f.Target, &met
		}
		goals = append(goals, g)
	}
	return goals
}

// read returns the recorded speeds; none if there is no file.
func (o *interferenceOptions) read() ([]model.Measurement, error) {
	file, err := os.Open(o.recorded)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	recorded, err := interference.Recorded(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; record it again by --measure", o.recorded, err)
	}
	return recorded, nil
}
