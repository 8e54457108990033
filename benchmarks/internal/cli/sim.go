package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// quickSeeds is the number of seeds of --quick.
const quickSeeds = 8

const (
	// workloadSeeds is the number of seeds of --workload, which may have hundreds of jobs.
	workloadSeeds = 10
	// maxSize bounds the machine that runs --workload.
	maxSize = 1024
)

// usualUnsized is the part of jobs without a size, if only --converged is given.
const usualUnsized = 0.5

type simOptions struct {
	commit    string
	seeds     int
	quick     bool
	strict    bool
	out       string
	unsized   float64
	converged []string
	gpus      bool
	history   bool
	ends      bool
	workload  string
	size      int
	source    source
}

func simCommand(commit string) *cobra.Command {
	o := simOptions{commit: commit, source: source{defaults: workload.Defaults{GPUMemory: "4Gi", CPU: 100}}}
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "The share policies in virtual time, against fair sharing: what they gain and whom they harm",
		Long: `sim runs the very code that divides a real node on simulated machines of 1 to 64 cores, where jobs that can use
only some of the cores arrive and end, with exact sizes and with wrong ones. It prints what each policy changes
against fair sharing, with 95 % intervals, and writes sim.json and sim.svg. With --gpus it divides the time of GPUs,
against plain sharing, and writes sim-gpus.json and sim-gpus.svg; with --converged some jobs have no size, and it writes
sim-converged.json and sim-converged.svg. With --history it compares what a node without history can use, and writes
sim-history.json and sim-history.svg. With --ends it asks how well a node predicts the ends of its jobs, and writes sim-ends.json. All
four are about the default policy only.

With --workload exactly the jobs of a workload run instead, on one machine of --size cores or, with --gpus, GPUs. It writes
sim-workload.json and sim-workload.svg. ` + sourceHelp + `
How long a job takes is estimated from its example job. Seeds differ in when the metric of each job stops improving, and in
wrong sizes.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.IntVar(&o.seeds, "seeds", 200, "how often to repeat, each time with other jobs")
	f.BoolVar(&o.quick, "quick", false, fmt.Sprintf("%d seeds", quickSeeds))
	f.BoolVar(&o.strict, "strict", false, "fail if a goal is not met")
	f.Float64Var(&o.unsized, "unsized", 0, fmt.Sprintf("part of the jobs that declare no size, 0 to 1; %g if --converged is given", usualUnsized))
	f.StringSliceVar(&o.converged, "converged", []string{string(policy.ConvergedFair)},
		"what harmless gives converged jobs of unknown size, as the coordinator's flag: fair, floor, or both (fair,floor)")
	f.BoolVar(&o.gpus, "gpus", false, "machines of 1 to 8 GPUs whose time is divided, instead of cores")
	f.BoolVar(&o.history, "history", false, "a machine of one core without history, with its own, with another node's, and with poisoned ones")
	f.BoolVar(&o.ends, "ends", false, "the predicted ends of jobs against the true ones, on a machine of one core with and without history")
	f.StringVar(&o.workload, "workload", "", fmt.Sprintf("run the jobs of this workload; %d seeds, unless --seeds is given", workloadSeeds))
	f.IntVar(&o.size, "size", 1, "cores of the machine that runs --workload; GPUs with --gpus")
	f.StringVar(&o.source.format, "format", "", "format of --workload: "+strings.Join(workload.Formats(), ", ")+" (default: as its header)")
	f.Float64Var(&o.source.speedup, "speedup", 1, "jobs of --workload arrive so many times faster, and have so many times fewer steps")
	f.Uint64Var(&o.source.defaults.Seed, "workload-seed", 1, "decides what --workload leaves open: times of arrival and lengths of jobs")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for the figures and the plot")
	return cmd
}

// validate sets the number of seeds, and returns an error for flags that exclude each other.
func (o *simOptions) validate(cmd *cobra.Command) error {
	if o.quick {
		o.seeds = quickSeeds
	}
	switch {
	case o.ends && (o.history || o.gpus || o.workload != "" || o.unsized > 0):
		return errors.New("--ends excludes --history, --gpus, --workload and --unsized")
	case o.history && (o.gpus || o.workload != "" || o.unsized > 0):
		return errors.New("--history excludes --gpus, --workload and --unsized")
	case o.workload != "" && !o.quick && !cmd.Flags().Changed("seeds"):
		o.seeds = workloadSeeds
	}
	if o.seeds < 2 || o.seeds > 100_000 {
		return fmt.Errorf("--seeds %d: 2 to 100000", o.seeds)
	}
	return nil
}

func (o *simOptions) run(cmd *cobra.Command) error {
	if err := o.validate(cmd); err != nil {
		return err
	}
	if o.ends {
		return o.runEnds(cmd)
	}
	converged, err := o.settings(cmd.Flags().Changed("converged") && !cmd.Flags().Changed("unsized"))
	if err != nil {
		return err
	}
	began := time.Now()
	machines, err := o.machines(cmd)
	if err != nil {
		return err
	}
	policies := sim.PoliciesWith(converged)
	if o.gpus || o.history || cmd.Flags().Changed("converged") {
		policies = sim.Shipped(policies)
	}
	cells, err := sim.Study(cmd.Context(), o.seeds, machines, policies, progress(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	summary := o.summary(cmd, began)
	summary.Settings, summary.Goals, summary.Details = sim.Settings(o.unsized, converged), sim.Goals(cells), cells
	if o.history {
		summary.Goals = append(sim.HistoryGoals(cells), summary.Goals...)
	}
	summary.Took("all seeds", time.Since(began))
	sim.Table(cmd.OutOrStdout(), cells, summary.Goals)
	figures := filepath.Join(o.out, o.name()+".json")
	plot := filepath.Join(o.out, o.name()+".svg")
	if err := errors.Join(summary.Write(figures), os.WriteFile(plot, []byte(sim.Plot(cells)), 0o644)); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d seeds in %.0f s. The figures are in %s.\n", o.seeds, time.Since(began).Seconds(), figures)
	return o.judge(summary)
}

// runEnds runs the study of predicted ends.
func (o *simOptions) runEnds(cmd *cobra.Command) error {
	began := time.Now()
	all, err := sim.EndsStudy(cmd.Context(), o.seeds)
	if err != nil {
		return err
	}
	summary := o.summary(cmd, began)
	summary.Settings = map[string]string{"time": "virtual"}
	summary.Goals = sim.EndsGoals(all)
	summary.Took("all seeds", time.Since(began))
	return errors.Join(
		results.Table(cmd.OutOrStdout(), summary.Goals),
		summary.Write(filepath.Join(o.out, o.name()+".json")),
		o.judge(summary))
}

// summary returns the summary of a study without its figures.
func (o *simOptions) summary(cmd *cobra.Command, began time.Time) results.Summary {
	summary := results.Summary{
		Name:    o.name(),
		Quick:   o.quick,
		Commit:  o.commit,
		Date:    began.UTC().Truncate(time.Second),
		Machine: results.ThisMachine(nil),
		Command: o.command(cmd),
	}
	for seed := range o.seeds {
		summary.Seeds = append(summary.Seeds, uint32(seed+1))
	}
	return summary
}

// judge returns an error if a goal was missed that had to be met.
func (o *simOptions) judge(summary results.Summary) error {
	if missed := summary.Missed(); o.strict && len(missed) > 0 {
		return fmt.Errorf("%d goals were missed: %q", len(missed), missed)
	}
	return nil
}

// machines returns the machines of the study.
func (o *simOptions) machines(cmd *cobra.Command) (machines []sim.Machine, err error) {
	switch {
	case o.workload != "":
		machines, err = o.listed(cmd)
	case o.history:
		machines = sim.HistoryMachines()
	case o.gpus:
		machines = sim.GPUMachines()
	default:
		machines = sim.Machines()
	}
	return sim.WithUnsized(machines, o.unsized), err
}

// listed returns the machine that runs --workload.
func (o *simOptions) listed(cmd *cobra.Command) ([]sim.Machine, error) {
	if o.size < 1 || o.size > maxSize {
		return nil, fmt.Errorf("--size %d: 1 to %d", o.size, maxSize)
	}
	jobs, err := o.source.load(o.workload, cmd.InOrStdin())
	if err != nil {
		return nil, fmt.Errorf("--workload: %w", err)
	}
	m, err := sim.Listed(jobs, o.size, o.gpus)
	return []sim.Machine{m}, err
}

// progress returns a function that prints a line for each cell: a study takes minutes.
func progress(w io.Writer) func(c sim.Cell, of int) {
	n := 0
	return func(c sim.Cell, of int) {
		n++
		fmt.Fprintf(w, "%3d of %d  %s, %s: completion %s\n", n, of, c.Where(), c.Policy, c.Completion)
	}
}

// command returns the command line that reproduces the figures.
func (o *simOptions) command(cmd *cobra.Command) string {
	if (o.gpus || o.history || o.ends) && o.workload == "" {
		return results.Command(o.name(), cmd.Flags(), "out", "gpus", "history", "ends")
	}
	return results.Command("sim", cmd.Flags(), "out")
}

// name returns the name of the study and of its files.
func (o *simOptions) name() string {
	if o.workload != "" {
		return "sim-workload"
	}
	if o.history {
		return "sim-history"
	}
	if o.ends {
		return "sim-ends"
	}
	if o.gpus {
		return "sim-gpus"
	}
	if o.unsized > 0 {
		return "sim-converged"
	}
	return "sim"
}

// settings validates the options about jobs of unknown size.
func (o *simOptions) settings(usual bool) ([]policy.Converged, error) {
	if usual {
		o.unsized = usualUnsized
	}
	if !(o.unsized >= 0 && o.unsized <= 1) {
		return nil, fmt.Errorf("--unsized %g: 0 to 1", o.unsized)
	}
	if len(o.converged) == 0 {
		return nil, errors.New("--converged is empty: fair, floor, or both")
	}
	var all []policy.Converged
	for _, name := range o.converged {
		c := policy.Converged(name)
		if err := c.Validate(); err != nil || c == "" {
			return nil, fmt.Errorf("--converged %q: fair, floor, or both (fair,floor)", name)
		}
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all, nil
}
