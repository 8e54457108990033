package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/batchsize"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

type tuneOptions struct {
	commit string
	seeds  int
	// searches is the number of searches of each PyTorch job.
	searches int
	phases   []string
	kinds    []string
	quick    bool
	strict   bool
	python   string
	out      string
}

// The phases of the benchmark, in their order.
const (
	phaseSimulated = "simulated"
	phaseReal      = "real"
	phaseGradients = "gradients"
)

func tuneCommand(commit string) *cobra.Command {
	o := tuneOptions{commit: commit}
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "How good the batch size is to which Trellis brings a job, and what the measurement of gradients costs",
		Long: `tune lets the code of coordinator and tuner choose the batch size of jobs, and compares it with the best fixed size by exhaustive
search: simulated jobs of several shapes, and PyTorch jobs with the shim on this machine. It also measures what the shim's
gradients() costs. It writes tune.json.

The phases real and gradients need Python with PyTorch and scikit-learn, and a machine that is otherwise idle: more than an hour.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.IntVar(&o.seeds, "seeds", 100, "number of runs of each simulated job")
	f.IntVar(&o.searches, "searches", 3, "number of searches of each PyTorch job")
	f.StringSliceVar(&o.phases, "phases", []string{phaseSimulated, phaseReal, phaseGradients}, "parts of the benchmark")
	f.StringSliceVar(&o.kinds, "kinds", batchsize.Kinds(), "PyTorch jobs, as in benchmarks/jobs")
	f.BoolVar(&o.quick, "quick", false, fmt.Sprintf("%d runs, one search of one PyTorch job, short measurements", quickTuneSeeds))
	f.BoolVar(&o.strict, "strict", false, "fail if a goal is not met")
	f.StringVar(&o.python, "python", "/usr/bin/python3", "Python with PyTorch and scikit-learn")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for tune.json")
	return cmd
}

// quickTuneSeeds is the number of seeds with --quick.
const quickTuneSeeds = 5

func (o *tuneOptions) run(cmd *cobra.Command) error {
	if o.quick {
		o.seeds, o.searches, o.kinds = quickTuneSeeds, 1, o.kinds[:min(1, len(o.kinds))]
	}
	if err := o.validate(); err != nil {
		return err
	}
	began := time.Now()
	summary := results.Summary{
		Name: "tune", Quick: o.quick, Commit: o.commit, Date: began.UTC().Truncate(time.Second), Machine: results.ThisMachine(nil),
		Command: results.Command("bench-tune", cmd.Flags(), "out", "python"),
		Settings: map[string]string{
			"runs of a simulated job": strconv.Itoa(o.seeds),
			"searches of a real job":  strconv.Itoa(o.searches),
			"phases":                  fmt.Sprint(o.phases),
		},
	}
	for seed := range o.seeds {
		summary.Seeds = append(summary.Seeds, uint32(seed+1))
	}
	m := tuneMeasurement{tuneOptions: o, summary: &summary, say: func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }}
	if err := m.all(cmd.Context()); err != nil {
		return err
	}
	err := errors.Join(results.Table(cmd.OutOrStdout(), summary.Goals), summary.Write(filepath.Join(o.out, "tune.json")))
	if missed := summary.Missed(); o.strict && len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d goals were missed: %q", len(missed), missed))
	}
	return err
}

func (o *tuneOptions) validate() error {
	if o.seeds < 1 || o.seeds > 10_000 {
		return fmt.Errorf("--seeds %d: 1 to 10000", o.seeds)
	}
	if o.searches < 1 || o.searches > 100 {
		return fmt.Errorf("--searches %d: 1 to 100", o.searches)
	}
	all := []string{phaseSimulated, phaseReal, phaseGradients}
	for _, phase := range o.phases {
		if !slices.Contains(all, phase) {
			return fmt.Errorf("--phases %q: only %q", phase, all)
		}
	}
	return nil
}

// tuneMeasurement is a run of the benchmark.
type tuneMeasurement struct {
	*tuneOptions
	summary *results.Summary
	say     func(string)
	real    []batchsize.Real
}

func (m *tuneMeasurement) all(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "tune-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	place := batchsize.Workplace{Folder: folder, Python: m.python}
	if err := place.Prepare(); err != nil {
		return err
	}
	for _, phase := range []struct {
		name string
		run  func(context.Context, batchsize.Workplace) error
	}{{phaseSimulated, m.simulated}, {phaseReal, m.jobs}, {phaseGradients, m.gradients}} {
		if !slices.Contains(m.phases, phase.name) {
			continue
		}
		began := time.Now()
		if err := phase.run(ctx, place); err != nil {
			return err
		}
		m.summary.Took(phase.name, time.Since(began))
	}
	if len(m.real) > 0 {
		m.summary.Details = map[string]any{"jobs": m.real}
	}
	return nil
}

func (m *tuneMeasurement) simulated(ctx context.Context, _ batchsize.Workplace) error {
	for _, c := range batchsize.Curves() {
		m.say("simulated: " + c.Name)
		var seeds []batchsize.Simulated
		for seed := range m.seeds {
			if err := ctx.Err(); err != nil {
				return err
			}
			seeds = append(seeds, c.Simulate(uint64(seed+1)))
		}
		m.summary.Goals = append(m.summary.Goals, batchsize.SimulatedGoals(c, seeds)...)
	}
	return nil
}

func (m *tuneMeasurement) times() batchsize.Times {
	if m.quick {
		return batchsize.QuickTimes()
	}
	return batchsize.FullTimes()
}

func (m *tuneMeasurement) jobs(ctx context.Context, place batchsize.Workplace) error {
	for _, kind := range m.kinds {
		var searches []batchsize.Real
		for n := range m.searches {
			m.say(fmt.Sprintf("real: %s, search %d of %d", kind, n+1, m.searches))
			r, err := place.Run(ctx, kind, n+1, m.times(), func(text string) { m.say("  " + text) })
			if err != nil {
				return err
			}
			searches = append(searches, r)
		}
		m.real = append(m.real, searches...)
		m.summary.Goals = append(m.summary.Goals, batchsize.RealGoals(kind, searches)...)
	}
	return nil
}

func (m *tuneMeasurement) gradients(ctx context.Context, place batchsize.Workplace) error {
	for _, kind := range m.kinds {
		m.say("gradients: " + kind)
		periods, err := place.Gradients(ctx, kind, m.times().Gradients)
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		m.summary.Goals = append(m.summary.Goals, batchsize.GradientGoals(kind, periods)...)
	}
	return nil
}
