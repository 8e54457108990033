package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/storm"
)

// quickPods is the size of the two rounds of --quick.
const quickPods = 40

type stormOptions struct {
	commit string
	storm  storm.Storm
	local  cluster.Local
	quick  bool
	check  bool
	out    string
	output string
}

func stormCommand(commit string) *cobra.Command {
	o := stormOptions{commit: commit}
	cmd := &cobra.Command{
		Use:   "storm",
		Short: "Bursts of pods on real kubelets that are killed meanwhile: which container got which GPU, and was a pod lost?",
		Long: `storm brings up a real Kubernetes on this machine (as root; bin/local does it), or uses the one of that name which is
up, and plays rounds: bursts of pods of equal or of mixed sizes, while on each node kubelet and the device plugin are
killed with -9. After each round it compares what every container really got with kubelet's checkpoint, the pod's
annotation and the device plugin's allocations.

The exit code is not 0 if a container had the wrong GPU, a GPU was over-committed, the records differed at rest, or a
pod was lost; with --check=false it is 0.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.IntVar(&o.storm.Rounds, "rounds", 20, "how many rounds: sizes are equal and mixed in turn")
	f.IntVar(&o.storm.Pods, "pods", 200, "pods in a round")
	f.Uint64Var(&o.storm.Seed, "seed", 1, "determines sizes, pauses and kills")
	f.StringVar(&o.local.Name, "name", "storm", "name of the local cluster")
	f.IntVar(&o.local.Nodes, "nodes", 2, "its nodes, one core each")
	f.StringVar(&o.local.GPUs, "gpus", "emulated:2x24GiB", "GPUs of each node")
	f.BoolVar(&o.storm.Keep, "keep", false, "leave the cluster up")
	f.BoolVar(&o.quick, "quick", false, fmt.Sprintf("two rounds of %d pods: shows that the benchmark works", quickPods))
	f.BoolVar(&o.check, "check", true, "fail if a goal is missed")
	f.StringVar(&o.out, "out", "benchmarks/results/storm.json", "file for the figures")
	f.StringVarP(&o.output, "output", "o", "", "json: the figures on standard output too, the rest on standard error")
	return cmd
}

func (o *stormOptions) validate() error {
	var problems []error
	refuse := func(wrong bool, format string, values ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, values...))
		}
	}
	refuse(o.storm.Rounds < 1 || o.storm.Rounds > 1000, "--rounds %d: 1 to 1000", o.storm.Rounds)
	refuse(o.storm.Pods < 8 || o.storm.Pods > 999, "--pods %d: 8 to 999", o.storm.Pods)
	refuse(o.local.Nodes < 1 || o.local.Nodes > 16, "--nodes %d: 1 to 16", o.local.Nodes)
	refuse(o.output != "" && o.output != "json", "--output %q: only json is known", o.output)
	return errors.Join(problems...)
}

func (o *stormOptions) run(cmd *cobra.Command) error {
	if o.quick {
		o.storm.Rounds, o.storm.Pods = 2, quickPods
	}
	if err := o.validate(); err != nil {
		return err
	}
	progress := cmd.OutOrStdout()
	if o.output == "json" {
		progress = cmd.ErrOrStderr()
	}
	if err := o.findLocal(progress); err != nil {
		return err
	}
	summary := results.Summary{
		Name: "storm", Quick: o.quick, Commit: o.commit, Date: time.Now().UTC().Truncate(time.Second), Machine: results.ThisMachine(nil),
		Seeds: []uint32{uint32(o.storm.Seed)}, Command: results.Command("bench-storm", cmd.Flags(), "name", "out", "output", "keep"), Phases: []results.Phase{},
	}
	summary.Machine.GPU = fmt.Sprintf("%d nodes, %s each", o.local.Nodes, o.local.GPUs)
	o.storm.Local, o.storm.Notices, o.storm.Summary = &o.local, progress, &summary
	rounds, err := o.storm.Run(cmd.Context())
	if len(rounds) == 0 {
		return err
	}
	summary.Goals, summary.Details = storm.Goals(rounds), rounds
	err = errors.Join(err, summary.Write(o.out), results.Table(progress, summary.Goals))
	if o.output == "json" {
		err = errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(summary))
	}
	if missed := summary.Missed(); o.check && len(missed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d goals were missed: %s", len(missed), strings.Join(missed, "; ")))
	}
	return err
}

func (o *stormOptions) findLocal(out io.Writer) error {
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	o.local.Program, err = cluster.FindProgram(executable)
	o.local.Out, o.local.Err = out, os.Stderr
	return err
}
