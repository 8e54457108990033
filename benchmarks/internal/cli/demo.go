package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/demo"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/benchmarks/jobs"
)

type demoOptions struct {
	commit     string
	workload   string
	name       string
	nodes      int
	gpus       string
	policy     string
	compare    bool
	repeats    int
	chaos      bool
	chaosSeed  uint64
	keep       bool
	kubeconfig string
	out        string
	output     string
	quick      bool
	image      string
	python     string
	timeout    time.Duration
}

func demoCommand(commit string) *cobra.Command {
	o := demoOptions{commit: commit}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Real jobs on a real Kubernetes, live: shares, loaders and categories as they change",
		Long: `demo brings up a real Kubernetes on this machine (as root; bin/local does it), installs Trellis, submits
training jobs as they arrive, shows them live, and takes everything down again. With KUBECONFIG set it
uses that cluster instead, which must have Trellis installed.

The nodes have emulated GPUs. That of node-2 computes: it is a core, on which half of the jobs compute in turns, so
that Trellis divides the time of a GPU there (emulated compute). On node-1 it divides the CPU.

The demo's own jobs are sized for a certain machine. A short job measures the speed of this one first; on a faster machine
the jobs have more steps, on a slower one fewer.

The exit code is 0 if every job finished, and, in a full run of the demo's own jobs, each kind of job saw at least
one change of CPU or GPU share, of data loaders and of category, each job has a curve, and none was taken for a
restarted one; with --chaos, if every binary came back as well.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.workload, "workload", "", "CSV file of jobs (default: the demo's own eleven jobs of eight kinds, and three variants)")
	f.StringVar(&o.name, "name", "trellis", "name of the local cluster")
	f.IntVar(&o.nodes, "nodes", 2, "nodes of the local cluster, one core each")
	f.StringVar(&o.gpus, "gpus", "emulated:2x24GiB/node-2=1x24GiB,compute",
		`GPUs of each node: "emulated:2x24GiB", with "/node-2=1x24GiB,compute" another sort on one node, or "nvml" for real ones`)
	f.StringVar(&o.policy, "policy", "harmless", "share policy of the coordinators")
	f.BoolVar(&o.compare, "compare", false, "run the same jobs under policy "+demo.Baseline+" too, and print the difference")
	f.IntVar(&o.repeats, "repeats", 1, "how many rounds; with --compare, every other one runs "+demo.Baseline+" first")
	f.BoolVar(&o.chaos, "chaos", false, "kill -9 each of Trellis' four binaries once while the jobs run; on a local cluster only")
	f.Uint64Var(&o.chaosSeed, "chaos-seed", 1, "decides in which order and when")
	f.BoolVar(&o.keep, "keep", false, "leave the cluster up, and the pods of the last run on it")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "use this cluster instead of a local one (environment: KUBECONFIG)")
	f.StringVar(&o.out, "out", "", "results folder (default: benchmarks/results/demo-<time>)")
	f.StringVarP(&o.output, "output", "o", "", "table (live), plain (lines) or json (a line an event); default: table on a terminal, else plain")
	f.BoolVar(&o.quick, "quick", false, "a third of the steps")
	f.StringVar(&o.image, "image", "", "image of the jobs, with PyTorch and scikit-learn (default, local: this machine's own)")
	f.StringVar(&o.python, "python", "python3", "the image's interpreter, where --image is given")
	f.DurationVar(&o.timeout, "timeout", 20*time.Minute, "how long the jobs of one run may take")
	return cmd
}

func (o *demoOptions) validate() error {
	var problems []error
	refuse := func(wrong bool, format string, values ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, values...))
		}
	}
	refuse(o.nodes < 1 || o.nodes > 64, "--nodes %d: 1 to 64", o.nodes)
	refuse(o.timeout <= 0, "--timeout %s: must be more than nothing", o.timeout)
	refuse(!slices.Contains([]string{"", "table", "plain", "json"}, o.output), "--output %q: table, plain or json", o.output)
	refuse(o.kubeconfig != "" && o.compare, "--compare reinstalls Trellis with another policy, which it does on a local cluster only: "+
		"run the demo twice with your own change of policy between")
	refuse(o.repeats < 1 || o.repeats > 100, "--repeats %d: 1 to 100", o.repeats)
	refuse(o.chaos && o.kubeconfig != "", "--chaos kills processes of this machine, those of a local cluster's nodes")
	refuse(o.chaos && o.compare, "--chaos and --compare: the effect of a policy is not visible while binaries are killed")
	refuse(o.kubeconfig == "" && o.policy == "", "--policy is empty")
	return errors.Join(problems...)
}

func (o *demoOptions) run(cmd *cobra.Command) error {
	if err := o.validate(); err != nil {
		return err
	}
	list, err := o.jobs()
	if err != nil {
		return err
	}
	scripts, err := jobs.Scripts()
	if err != nil {
		return err
	}
	d := &demo.Demo{
		Kubeconfig: o.kubeconfig, Compare: o.compare, Rounds: o.repeats, Chaos: o.chaos, ChaosSeed: o.chaosSeed,
		Complete: !o.quick && o.workload == "", Keep: o.keep, Jobs: list, Scripts: scripts, Image: o.image, Python: o.python,
		Timeout: o.timeout, Report: cmd.OutOrStdout(), Notices: cmd.OutOrStdout(),
		Summary: results.Summary{
			Name: "demo", Quick: o.quick, Commit: o.commit, Date: time.Now().UTC().Truncate(time.Second), Seeds: list.Seeds(),
			Command: o.command(cmd),
		},
	}
	if o.chaos {
		d.Summary.ChaosSeed = o.chaosSeed
	}
	d.Screen, err = screen(o.output)
	if err != nil {
		return err
	}
	if o.output == "json" {
		d.Notices, d.Report = cmd.ErrOrStderr(), cmd.ErrOrStderr()
	}
	if o.kubeconfig == "" {
		if d.Local, err = o.local(d); err != nil {
			return err
		}
		d.Policy = o.policy
		if d.Complete && o.image == "" { // they run on this machine, with its own Python
			d.Pace = &demo.Pace{Python: training.MachinePython, Scripts: scripts}
		}
	}
	if d.Folder, err = results.Create(o.folder(time.Now())); err != nil {
		return err
	}
	return errors.Join(d.Do(cmd.Context()), d.Folder.Close())
}

func (o *demoOptions) jobs() (workload.Workload, error) {
	list, err := workload.Demo()
	if o.workload != "" {
		file, openErr := os.Open(o.workload)
		if openErr != nil {
			return nil, fmt.Errorf("--workload: %w", openErr)
		}
		defer file.Close()
		if list, err = workload.Parse(file); err != nil {
			return nil, fmt.Errorf("%s: %w", o.workload, err)
		}
	}
	if o.quick {
		list = list.Quick()
	}
	return list, err
}

// command returns the command line to reproduce the run. A user's own cluster is set by KUBECONFIG, as make reads it.
func (o *demoOptions) command(cmd *cobra.Command) string {
	command := results.Command("demo", cmd.Flags(), "name", "kubeconfig", "out", "output", "keep")
	if o.kubeconfig != "" {
		return "KUBECONFIG=… " + command
	}
	return command
}

func (o *demoOptions) local(d *demo.Demo) (*cluster.Local, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := cluster.FindProgram(executable)
	if err != nil {
		return nil, err
	}
	return &cluster.Local{Program: program, Name: o.name, Nodes: o.nodes, GPUs: o.gpus, Out: d.Notices, Err: os.Stderr}, nil
}

// folder returns the results folder: below benchmarks/ in a checkout, otherwise below the working directory.
func (o *demoOptions) folder(now time.Time) string {
	if o.out != "" {
		return o.out
	}
	name := filepath.Join("results", "demo-"+now.UTC().Format("20060102-150405"))
	if info, err := os.Stat("benchmarks"); err == nil && info.IsDir() {
		return filepath.Join("benchmarks", name)
	}
	return name
}

// Main runs the command line until it is done or ctx ends, and returns the exit code.
func Main(ctx context.Context, version string) int {
	if err := New(version).ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "benchmarks: %v\n", err)
		return 1
	}
	return 0
}
