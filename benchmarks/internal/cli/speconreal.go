package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/clusterrun"
	"github.com/trellis-gpu/trellis/benchmarks/internal/clustersim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/benchmarks/jobs"
)

type speconRealOptions struct {
	commit string
	bench  clusterrun.Bench
	local  cluster.Local
	seed   uint64
	runs   int
	quick  bool
	dryRun bool
	strict bool
	from   string
	out    string
}

func speconRealCommand(commit string) *cobra.Command {
	o := speconRealOptions{commit: commit}
	cmd := &cobra.Command{
		Use:   "specon-real",
		Short: "One run of real jobs on a local cluster of three nodes, next to what the simulator of specon says about it",
		Long: `specon-real brings up a real Kubernetes of three nodes on this machine (as root; bin/local does it) and plays twelve
training jobs four times: each alone on a node, then those of a node at the same time, then as they arrive under default scheduling,
then under Trellis with automatic moves. The simulator of specon gets how long the jobs computed alone, how long their pods took to
start and to end, and the cost of a switch between jobs. It says between which bounds 95 % of such runs are. The machine must be
otherwise idle; it takes up to 25 minutes. It writes specon-real.json.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.Uint64Var(&o.seed, "seed", 1, "decides which jobs arrive when and how long they are")
	f.IntVar(&o.runs, "runs", 500, "number of simulated runs")
	f.IntVar(&o.local.Nodes, "nodes", 3, "nodes of the local cluster; they share the machine's cores equally if it has fewer")
	f.StringVar(&o.local.Name, "name", "specon", "name of the local cluster")
	f.StringVar(&o.local.GPUs, "gpus", "emulated:1x24GiB", "GPUs of each node; their time is not divided")
	f.BoolVar(&o.quick, "quick", false, "half of the jobs with a fifth of the steps: shows that the benchmark works")
	f.BoolVar(&o.dryRun, "dry-run", false, "only list the jobs of each phase, and simulate them with the usual lengths")
	f.StringVar(&o.from, "again", "", "a specon-real.json: its run is compared with the simulator again, without a cluster")
	f.BoolVar(&o.strict, "strict", false, "fail if a figure is outside of its interval")
	f.StringVar(&o.out, "out", filepath.Join("benchmarks", "results"), "folder for specon-real.json")
	return cmd
}

func (o *speconRealOptions) run(cmd *cobra.Command) (err error) {
	if !o.possible() {
		return errors.New("--runs is from 20 to 100000, --nodes from 2 to 8")
	}
	o.bench.Jobs = clusterrun.Schedule(o.seed)
	if o.quick {
		o.bench.Jobs = clusterrun.Quick(o.bench.Jobs)
	}
	o.bench.Local, o.bench.Notices, o.bench.Cgroups = &o.local, cmd.OutOrStdout(), "/sys/fs/cgroup"
	if o.dryRun {
		return o.describe(cmd)
	}
	if o.from != "" {
		return o.again(cmd)
	}
	if o.bench.Scripts, err = jobs.Scripts(); err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	if o.local.Program, err = cluster.FindProgram(executable); err != nil {
		return err
	}
	o.local.Out, o.local.Err = cmd.OutOrStdout(), cmd.ErrOrStderr()
	began := time.Now()
	played, err := o.bench.Play(cmd.Context())
	if err != nil {
		return err
	}
	return o.conclude(cmd, began, played)
}

func (o *speconRealOptions) possible() bool {
	return o.runs >= 20 && o.runs <= 100_000 && o.local.Nodes >= 2 && o.local.Nodes <= 8
}

// describe prints what would be played, and what the simulator expects if each job takes its usual time alone.
func (o *speconRealOptions) describe(cmd *cobra.Command) error {
	lines, err := o.bench.Describe()
	if err != nil {
		return err
	}
	for _, line := range lines {
		fmt.Fprintln(cmd.OutOrStdout(), line)
	}
	solos, err := clusterrun.Solos(o.bench.Jobs, clusterrun.Usual(o.bench.Jobs))
	if err != nil {
		return err
	}
	expected, err := clustersim.Predict(cmd.Context(), solos, clustersim.Nodes{Number: o.local.Nodes}, o.runs)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "simulated with the usual lengths, if switches between jobs and starts of pods cost nothing: mean completion %+.1f %% (%+.1f to %+.1f)\n",
		expected.CompletionChange.Median, expected.CompletionChange.Low, expected.CompletionChange.High)
	return nil
}

// compare returns the figures of a run next to what the simulator says about it.
func (o *speconRealOptions) compare(cmd *cobra.Command, details *speconRealDetails) ([]results.Goal, error) {
	alone, together := details.Played[clusterrun.Alone], details.Played[clusterrun.Together]
	before, after := details.Played[clusterrun.Default], details.Played[clusterrun.Trellis]
	solos, err := clusterrun.Solos(details.Jobs, alone)
	if err != nil {
		return nil, err
	}
	if details.Nodes, err = clusterrun.Nodes(details.Jobs, o.local.Nodes, alone, together); err != nil {
		return nil, err
	}
	if details.Expected, err = clustersim.Predict(cmd.Context(), solos, details.Nodes, o.runs); err != nil {
		return nil, err
	}
	details.OnItsNodes = nil
	if placed, ok := clusterrun.Placed(details.Jobs, before, after); ok {
		expected, err := clustersim.PredictOn(cmd.Context(), solos, details.Nodes, placed, o.runs)
		if err != nil {
			return nil, err
		}
		details.OnItsNodes = &expected
	}
	return clusterrun.Goals(before, after, details.Nodes, details.Expected, details.OnItsNodes)
}

// speconRealDetails is what a figures file has of a run.
type speconRealDetails struct {
	Jobs     workload.Workload                      `json:"jobs"`
	Played   map[clusterrun.Phase]clusterrun.Played `json:"played"`
	Nodes    clustersim.Nodes                       `json:"nodes"`
	Expected clustersim.Prediction                  `json:"expected"`
	// OnItsNodes is what is expected on the nodes that the jobs were placed on, if these are known.
	OnItsNodes *clustersim.Prediction `json:"expectedOnItsNodes,omitempty"`
}

// conclude compares the phases with the simulation and writes the summary.
func (o *speconRealOptions) conclude(cmd *cobra.Command, began time.Time, played map[clusterrun.Phase]clusterrun.Played) error {
	details := speconRealDetails{Jobs: o.bench.Jobs, Played: played}
	goals, err := o.compare(cmd, &details)
	if err != nil {
		return err
	}
	settings := o.bench.Settings
	settings["simulated runs"] = strconv.Itoa(o.runs)
	settings["nodes"] = strconv.Itoa(o.local.Nodes)
	summary := results.Summary{
		Name: "specon-real", Quick: o.quick, Commit: o.commit, Date: began.UTC().Truncate(time.Second), Machine: results.ThisMachine(nil),
		Seeds: []uint32{uint32(o.seed)}, Command: results.Command("bench-specon-real", cmd.Flags(), "name", "out"),
		Settings: settings, Goals: goals, Details: details,
	}
	summary.Took("all", time.Since(began))
	return o.write(cmd, summary)
}

// write prints the figures and writes their file.
func (o *speconRealOptions) write(cmd *cobra.Command, summary results.Summary) error {
	err := errors.Join(results.Table(cmd.OutOrStdout(), summary.Goals), summary.Write(filepath.Join(o.out, "specon-real.json")))
	if missed := summary.Missed(); o.strict && len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d goals were missed: %q", len(missed), missed))
	}
	return err
}
