package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/flowcon"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/jobs"
)

type flowconOptions struct {
	bench     flowcon.Bench
	local     cluster.Local
	repeats   int
	schedules []string
	policies  []string
	within    time.Duration
	dryRun    bool
	check     bool
	out       string
}

func flowconCommand(commit string) *cobra.Command {
	o := flowconOptions{bench: flowcon.Bench{Commit: commit}}
	cmd := &cobra.Command{
		Use:   "flowcon",
		Short: "FlowCon's schedules on a real kubelet, with real jobs, under each policy",
		Long: `flowcon brings up a real Kubernetes on this machine (as root; bin/local does it) and plays FlowCon's four schedules on a
node of one core, under fair sharing and under each of Trellis' policies. All passes take many hours. Each complete
pass is in the journal, and a later call with the same journal continues. --within bounds the time of a call. Policies are
compared if one boot of a machine has played both; after another boot, an incomplete repeat is played again.

The figures cover the whole journal.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.IntVar(&o.repeats, "repeats", 5, "how often each schedule is played under each policy")
	f.StringSliceVar(&o.schedules, "schedules", nil, `schedules to play, such as "10 random" (default: all)`)
	f.StringSliceVar(&o.policies, "policies", flowcon.Variants(), "policies to play; harmless takes an objective after a colon, and +here or +elsewhere for a repeat before, on the same or another node")
	f.Uint64Var(&o.bench.Seed, "seed", 1, "decides when jobs of the random schedules arrive and how long they are")
	f.IntVar(&o.local.Nodes, "nodes", 1, "nodes, of one core each (two with --on-gpu): each plays a repeat of its own at the same time")
	f.StringVar(&o.local.Name, "name", "flowcon", "name of the local cluster")
	f.StringVar(&o.local.GPUs, "gpus", "emulated:2x24GiB", "GPUs of each node; with --on-gpu emulated:1x48GiB,compute")
	f.DurationVar(&o.within, "within", 0, "begin no further pass after this time (0: play all)")
	f.BoolVar(&o.bench.Quick, "quick", false, "an eighth of the steps: shows that the benchmark works")
	f.BoolVar(&o.bench.Remember, "remember", false, "all repeats of a policy in one namespace: forecasts for later ones come from earlier ones")
	f.BoolVar(&o.bench.OnGPU, "on-gpu", false, "all jobs on one emulated GPU that computes, on nodes of two cores: one is the GPU's, and the other too few for the jobs' data")
	f.StringVar(&o.bench.Keep, "keep", "", "folder that each pass leaves its samples in (default: they are not kept)")
	f.BoolVar(&o.dryRun, "dry-run", false, "only list the passes that are still to be played")
	f.BoolVar(&o.check, "check", false, "fail if a goal is missed")
	f.StringVar(&o.bench.Journal.Path, "journal", "benchmarks/results/flowcon.jsonl", "file with a line for every pass")
	f.StringVar(&o.out, "out", "benchmarks/results/flowcon.json", "file for the figures")
	return cmd
}

func (o *flowconOptions) run(cmd *cobra.Command) error {
	passes, err := o.plan()
	if err != nil {
		return err
	}
	if o.dryRun {
		for _, p := range passes {
			fmt.Fprintln(cmd.OutOrStdout(), p)
		}
		return nil
	}
	began := time.Now()
	if o.within > 0 {
		o.bench.Until = began.Add(o.within)
	}
	if o.bench.Scripts, err = jobs.Scripts(); err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	if o.bench.OnGPU {
		o.local.UpFlags = []string{"--cpus-per-node", "2"}
		if !cmd.Flags().Changed("gpus") {
			o.local.GPUs = "emulated:1x48GiB,compute"
		}
	}
	if o.local.Program, err = cluster.FindProgram(executable); err != nil {
		return err
	}
	o.local.Out, o.local.Err = cmd.OutOrStdout(), cmd.ErrOrStderr()
	o.bench.Local, o.bench.Notices = &o.local, cmd.OutOrStdout()
	played := o.bench.Play(cmd.Context(), passes)
	return errors.Join(played, o.conclude(cmd, began))
}

// plan returns the passes to play. It refuses a journal of another seed or size.
func (o *flowconOptions) plan() ([]flowcon.Pass, error) {
	if o.repeats < 1 || o.repeats > 100 || o.local.Nodes < 1 || o.local.Nodes > 8 {
		return nil, errors.New("--repeats is from 1 to 100, --nodes from 1 to 8")
	}
	for _, policy := range o.policies {
		if all := append(flowcon.Variants(), flowcon.TaughtVariants()...); !slices.Contains(all, policy) {
			return nil, fmt.Errorf("--policies: %q is none of %q", policy, all)
		}
	}
	o.local.Nodes, o.bench.Playing = flowcon.NodesFor(o.policies, o.local.Nodes)
	schedules, err := o.chosen()
	if err != nil {
		return nil, err
	}
	done, err := o.bench.Journal.Read()
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(done, func(r flowcon.Record) bool {
		return r.Seed != o.bench.Seed || r.Quick != o.bench.Quick || r.OnGPU != o.bench.OnGPU || r.Remember != o.bench.Remember
	}) {
		return nil, fmt.Errorf("%s has another seed, size, --on-gpu or --remember: name another one by --journal", o.bench.Journal.Path)
	}
	return flowcon.Plan(schedules, o.policies, o.repeats, o.bench.Playing, done, results.Boot()), nil
}

// chosen returns the schedules that --schedules names, or all of them.
func (o *flowconOptions) chosen() ([]flowcon.Schedule, error) {
	var schedules []flowcon.Schedule
	var names []string
	for _, s := range flowcon.Schedules(o.bench.Seed) {
		names = append(names, s.Name)
		if o.bench.Quick {
			s = s.Quick()
		}
		if len(o.schedules) == 0 || slices.Contains(o.schedules, s.Name) {
			schedules = append(schedules, s)
		}
	}
	if len(schedules) < len(o.schedules) || len(schedules) == 0 {
		return nil, fmt.Errorf("--schedules %q: there are %q", o.schedules, names)
	}
	return schedules, nil
}

func (o *flowconOptions) conclude(cmd *cobra.Command, began time.Time) error {
	records, err := o.bench.Journal.Read()
	if err != nil || len(records) == 0 {
		return err
	}
	summary := results.Summary{
		Name: "flowcon", Quick: o.bench.Quick, Commit: flowcon.Commits(records), Date: time.Now().UTC().Truncate(time.Second), Machine: records[len(records)-1].Machine,
		Seeds: []uint32{uint32(o.bench.Seed)}, Command: results.Command("bench-flowcon", cmd.Flags(), "name", "journal", "keep", "out", "within"),
		Settings: flowcon.Settings(records), Goals: flowcon.Goals(records), Details: records,
	}
	summary.Took("this time", time.Since(began))
	err = errors.Join(summary.Write(o.out), results.Table(cmd.OutOrStdout(), summary.Goals))
	if missed := summary.Missed(); o.check && len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d goals were missed: %q", len(missed), missed))
	}
	return err
}
