package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// Baseline is the policy to compare with.
const Baseline = "fair"

const (
	// interval is the time between two decisions. It is shorter than the shipped one because the demo's jobs are short: a job
	// alone on a node ends within seconds, and its category changes after half a dozen decisions.
	interval = 2 * time.Second
	// readyWithin bounds the time until an installation is ready for pods.
	readyWithin = 3 * time.Minute
	// imageWithin bounds the time until kubelet lists a loaded image.
	imageWithin = time.Minute
	// chaosFrom is the time of the first strike at the earliest. The last one is due at chaosFor, or at the jobs'
	// last arrival if that is later.
	chaosFrom, chaosFor = 15 * time.Second, time.Minute
	// clearWithin bounds the deletion of a run's objects.
	clearWithin = time.Minute
)

// Demo runs the demo: its passes, and the cluster before and after them.
type Demo struct {
	// Local is the cluster to bring up. If it is nil, Kubeconfig names a cluster that has Trellis.
	Local      *cluster.Local
	Kubeconfig string
	// Policy is the share policy to show. Compare adds a pass under Baseline. Both need a local cluster.
	Policy  string
	Compare bool
	// Rounds is the number of repetitions; 0 means one.
	Rounds int
	// Chaos kills each binary of Trellis once in each pass, at moments that ChaosSeed determines. It needs a local
	// cluster.
	Chaos     bool
	ChaosSeed uint64
	// Complete requires a change of each aspect for each kind of job.
	Complete bool
	// Keep leaves the cluster up, with the pods of the last run.
	Keep bool

	Jobs    workload.Workload
	Scripts map[string]string
	// Pace measures the machine first, and the jobs' steps are scaled to its speed. If it is nil, they are not.
	Pace *Pace
	// Image and Python are the environment of the jobs; empty means this machine's own Python, on a local cluster.
	Image, Python string
	Timeout       time.Duration

	Screen Screen
	// Notices receives progress messages, Report the conclusion.
	Notices, Report io.Writer
	Folder          *results.Folder
	Summary         results.Summary

	connection *cluster.Connection
	// goes means that the cluster is taken down at the end, with every object on it.
	goes   bool
	rounds []results.Round
	// placed has the nodes of the jobs in the first pass.
	placed map[string]string
	// missed has the expectations that passes did not fulfil.
	missed []error
}

// Do runs the demo. It takes the cluster down and writes the results in any case, also after ctx has ended.
func (d *Demo) Do(ctx context.Context) (err error) {
	after := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, d.conclude()) }()
	if err := d.stretch(ctx); err != nil {
		return err
	}
	if d.Local != nil {
		borrowed, upErr := d.borrow(ctx)
		defer func() { err = errors.Join(err, d.giveBack(after, borrowed)) }()
		if upErr != nil {
			return upErr
		}
		d.Kubeconfig, d.goes = borrowed.Kubeconfig, borrowed.Goes
	}
	if d.connection, err = cluster.Connect(d.Kubeconfig); err != nil {
		return err
	}
	if d.Local == nil {
		if err := d.connection.Installed(ctx); err != nil {
			return err
		}
	}
	installed := ""
	passes := d.passes()
	for i, p := range passes {
		if d.Local != nil && p.policy != installed {
			d.notice("installing Trellis, policy %s", p.policy)
			if err := d.timed("install "+p.policy, func() error { return d.Local.Install(ctx, p.policy, interval) }); err != nil {
				return err
			}
			installed = p.policy
		}
		d.readSettings(ctx)
		if err := d.pass(ctx, after, p, i == len(passes)-1); err != nil {
			return err
		}
	}
	return errors.Join(d.missed...)
}

// readSettings records the cluster's settings, once. A user may lack the right to read them.
func (d *Demo) readSettings(ctx context.Context) {
	if d.Summary.Settings != nil {
		return
	}
	settings, err := d.connection.Settings(ctx)
	if err != nil {
		d.notice("summary.json has no settings: %v", err)
		return
	}
	d.Summary.Settings = settings
}

func (d *Demo) borrow(ctx context.Context) (b cluster.Borrowed, err error) {
	err = d.timed("up", func() error { b, err = d.Local.Borrow(ctx, d.Keep, d.notice); return err })
	return b, err
}

func (d *Demo) giveBack(ctx context.Context, b cluster.Borrowed) error {
	if !b.Goes {
		return b.GiveBack(ctx)
	}
	return d.timed("down", func() error { return b.GiveBack(ctx) })
}

// pass is one planned run: its policy, its round, and whether it is the baseline of a comparison.
type pass struct {
	policy   string
	round    int
	compared bool
}

// passes lists all passes. Every other round reverses their order (A B, B A), so that a machine whose speed drifts
// favours neither policy.
func (d *Demo) passes() []pass {
	var passes []pass
	for round := 1; round <= max(d.Rounds, 1); round++ {
		turn := []pass{{policy: d.Policy, round: round}}
		if d.Compare {
			turn = append(turn, pass{policy: Baseline, round: round, compared: true})
		}
		if round%2 == 0 {
			slices.Reverse(turn)
		}
		passes = append(passes, turn...)
	}
	return passes
}

// pass runs the workload once, in its own namespace.
func (d *Demo) pass(ctx, after context.Context, p pass, last bool) (err error) {
	run, err := d.newRun(ctx, p)
	if err != nil {
		return err
	}
	if err := run.Prepare(ctx); err != nil {
		return err
	}
	defer func() {
		over := last || ctx.Err() != nil
		if over && (d.Keep || d.goes) {
			return
		}
		after, cancel := context.WithTimeout(after, clearWithin)
		defer cancel()
		err = errors.Join(err, run.Clear(after))
	}()
	want := cluster.Expectation{Nodes: 1, Policy: p.policy, Probe: run.Setup.Pod(d.Jobs[0])}
	if d.Local != nil {
		want.Nodes = d.Local.Nodes
	}
	ready, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if err := d.timed("ready "+p.policy, func() error {
		return d.connection.AwaitReady(ready, want, func(text string) { d.notice("%s", text) })
	}); err != nil {
		return err
	}
	if err := d.separate(ctx, run); err != nil {
		return err
	}
	d.notice("submitting %d jobs over %s, policy %s", len(d.Jobs), d.Jobs[len(d.Jobs)-1].Arrival, p.policy)
	return d.timed("jobs "+p.policy, func() error {
		line, err := run.Watch(ctx)
		if d.Compare && d.placed == nil && err == nil {
			d.placed = nodes(line)
		}
		d.keep(p, run)
		if err == nil {
			d.judge(p, run)
		}
		return errors.Join(err, results.Failures(line))
	})
}

func (d *Demo) newRun(ctx context.Context, p pass) (*Run, error) {
	image, python, folders := d.Image, d.Python, []string(nil)
	if image == "" {
		var err error
		if image, err = d.connection.MachineImage(ctx, imageWithin); err != nil {
			return nil, err
		}
		python, folders = training.MachinePython, training.MachineFolders()
	}
	id := "demo-" + time.Now().UTC().Format("150405")
	run := &Run{
		Policy: cmp.Or(p.policy, "as installed"), Round: p.round, Jobs: d.Jobs, Scripts: d.Scripts, Cluster: d.connection, Screen: d.Screen, Folder: d.Folder, Timeout: d.Timeout,
		Setup: training.Setup{Namespace: id, Run: id, Image: image, Python: python, MachineFolders: folders, Nodes: d.placed},
	}
	if d.Chaos {
		seed, until := d.ChaosSeed+uint64(p.round-1), max(d.Jobs[len(d.Jobs)-1].Arrival, chaosFor)
		run.Chaos = &chaos.Chaos{Cluster: Victims{d.Local.Name, d.connection}, Plan: chaos.Plan(seed, chaosFrom, until)}
	}
	return run, nil
}

// separate reserves the nodes whose emulated GPUs compute for the jobs that compute there.
func (d *Demo) separate(ctx context.Context, run *Run) error {
	on := 0
	for _, job := range d.Jobs {
		if job.Device == workload.Emulated {
			on++
		}
	}
	if on == 0 {
		return nil
	}
	state, err := d.connection.State(ctx)
	if err != nil {
		return err
	}
	for _, n := range state.Nodes {
		if n.GPUs != nil && n.GPUs.Emulated && n.GPUs.Computes {
			run.Setup.Computing = append(run.Setup.Computing, string(n.Name))
		}
	}
	if len(run.Setup.Computing) == 0 {
		d.notice("no emulated GPU computes: all jobs compute on the CPU, and the time of GPUs is not divided")
		return nil
	}
	d.notice("emulated compute: the GPU of %s is a core; %d of the jobs compute there in turns, and have shares of its time",
		strings.Join(run.Setup.Computing, ", "), on)
	return nil
}

// nodes returns the node of each job of a run.
func nodes(line *timeline.Timeline) map[string]string {
	on := map[string]string{}
	for _, job := range line.Last().Jobs {
		on[job.Name] = string(job.Node)
	}
	return on
}

func (d *Demo) timed(phase string, do func() error) error {
	began := time.Now()
	err := do()
	took := time.Since(began)
	d.Summary.Took(phase, took)
	if err == nil {
		d.notice("%s: %s", phase, took.Round(100*time.Millisecond))
	}
	return err
}

func (d *Demo) notice(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	d.Folder.Log.Info("notice", "text", text)
	fmt.Fprintln(d.Notices, "==> "+text)
}
