package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// Baseline is the policy that a comparison is made with.
const Baseline = "fair"

const (
	// interval is the time between two decisions. It is shorter than the shipped one because the demo's jobs are short: a job
	// alone on a node ends within seconds, and its category changes after half a dozen decisions.
	interval = 2 * time.Second
	// readyWithin is how long an installation may take until it is ready for pods.
	readyWithin = 3 * time.Minute
	// imageWithin is how long kubelet may take to list an image that it has.
	imageWithin = time.Minute
	// chaosFrom is when the first binary may be killed, chaosFor until when at least the last one is: the jobs' last arrival,
	// if that is later.
	chaosFrom, chaosFor = 15 * time.Second, time.Minute
	// clearWithin is how long the objects of a run may take to go.
	clearWithin = time.Minute
)

// Demo is the whole of it.
type Demo struct {
	// Local is the cluster to bring up, or nil: then Kubeconfig names one that has Trellis already.
	Local      *cluster.Local
	Kubeconfig string
	// Policy is the share policy to show, Compare whether Baseline is run too; both need a local cluster.
	Policy  string
	Compare bool
	// Rounds is how often that is done; none is once.
	Rounds int
	// Chaos kills each of Trellis' binaries once in each pass, at moments that ChaosSeed decides; it needs a local cluster.
	Chaos     bool
	ChaosSeed uint64
	// Complete demands that each kind of job sees a change of each sort.
	Complete bool
	// Keep leaves the cluster up, and the pods of the last run on it.
	Keep bool

	Jobs    workload.Workload
	Scripts map[string]string
	// Pace times the machine first, and the jobs are made as much longer as it is faster; nil: they are run as they are.
	Pace *Pace
	// Image and Python say what jobs run in; empty: this machine's own Python, on a local cluster.
	Image, Python string
	Timeout       time.Duration

	Screen Screen
	// Notices is for what is going on around the runs, Report for the conclusion.
	Notices, Report io.Writer
	Folder          *results.Folder
	Summary         results.Summary

	connection *cluster.Connection
	// goes tells that the cluster is taken down at the end, and every object on it with it.
	goes   bool
	rounds []results.Round
	// placed are the nodes that the first of several passes ran its jobs on.
	placed map[string]string
	// missed is what the passes should have shown and did not.
	missed []error
}

// Do runs the demo. Whatever happens, it leaves as it found: the cluster is taken down and the results there are are
// written, also after ctx has ended.
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

// readSettings records the cluster's settings, once. A user of an own cluster may lack the right to read them.
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

// pass is one run to come: under which policy, in which round, and whether it is there to be compared with.
type pass struct {
	policy   string
	round    int
	compared bool
}

// passes lists all of them. Every other round goes the other way round (A B, B A), so that a machine which slowly becomes
// faster or slower does not favour one of two policies.
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

// pass runs the workload once, in a namespace of its own.
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

// nodes are where the jobs of a run were.
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
