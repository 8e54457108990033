package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/plot"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// Baseline is the policy that a comparison is made with.
const Baseline = "fair"

const (
	// interval is how often coordinators decide: short, since the demo is.
	interval = 5 * time.Second
	// readyWithin is how long an installation may take until it is ready for pods.
	readyWithin = 3 * time.Minute
	// imageWithin is how long kubelet may take to list an image that it has.
	imageWithin = time.Minute
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
	// Keep leaves the cluster up, and the pods of the last run on it.
	Keep bool

	Jobs    workload.Workload
	Scripts map[string]string
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
	goes bool
	runs []*timeline.Timeline
}

// Do runs the demo. Whatever happens, it leaves as it found: the cluster is taken down and the results there are are
// written, also after ctx has ended.
func (d *Demo) Do(ctx context.Context) (err error) {
	after := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, d.conclude()) }()
	if d.Local != nil {
		takeDown, upErr := d.bringUp(ctx)
		defer func() { err = errors.Join(err, takeDown(after)) }()
		if upErr != nil {
			return upErr
		}
	}
	if d.connection, err = cluster.Connect(d.Kubeconfig); err != nil {
		return err
	}
	if d.Local == nil {
		if err := d.connection.Installed(ctx); err != nil {
			return err
		}
	}
	policies := []string{d.Policy}
	if d.Compare {
		policies = append(policies, Baseline)
	}
	for i, policy := range policies {
		if d.Local != nil {
			d.notice("installing Trellis, policy %s", policy)
			if err := d.timed("install "+policy, func() error { return d.Local.Install(ctx, policy, interval) }); err != nil {
				return err
			}
		}
		last := i == len(policies)-1
		if err := d.pass(ctx, after, policy, last); err != nil {
			return err
		}
	}
	return nil
}

// bringUp returns how to undo it, also when it fails. A cluster that was up before is left up.
func (d *Demo) bringUp(ctx context.Context) (takeDown func(context.Context) error, err error) {
	takeDown = func(after context.Context) error {
		if !d.Local.Exists(after) {
			return nil // it never came up, and bin/local has said why
		}
		d.notice("taking cluster %s down", d.Local.Name)
		return d.timed("down", func() error { return d.Local.Down(after) })
	}
	if d.Local.IsUp(ctx) {
		takeDown = func(context.Context) error { return nil }
		d.notice("cluster %s is up already: it is used, and left up", d.Local.Name)
	} else {
		withPID := os.Getpid()
		d.goes = !d.Keep
		if d.Keep {
			withPID = 0
			takeDown = func(context.Context) error {
				d.notice("cluster %s stays: export KUBECONFIG=%s; take it down by %s down --name %s", d.Local.Name, d.Kubeconfig, d.Local.Program, d.Local.Name)
				return nil
			}
		}
		d.notice("bringing cluster %s up", d.Local.Name)
		if err := d.timed("up", func() error { return d.Local.Up(ctx, withPID) }); err != nil {
			return takeDown, err
		}
	}
	d.Kubeconfig, err = d.Local.Kubeconfig(ctx)
	return takeDown, err
}

// pass is one run under one policy, in a namespace of its own.
func (d *Demo) pass(ctx, after context.Context, policy string, last bool) (err error) {
	run, err := d.newRun(ctx, policy)
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
	want := cluster.Expectation{Nodes: 1, Policy: policy, Probe: run.Setup.Pod(d.Jobs[0])}
	if d.Local != nil {
		want.Nodes = d.Local.Nodes
	}
	ready, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if err := d.timed("ready "+policy, func() error {
		return d.connection.AwaitReady(ready, want, func(text string) { d.notice("%s", text) })
	}); err != nil {
		return err
	}
	d.notice("submitting %d jobs over %s, policy %s", len(d.Jobs), d.Jobs[len(d.Jobs)-1].Arrival, policy)
	return d.timed("jobs "+policy, func() error {
		line, err := run.Watch(ctx)
		d.runs = append(d.runs, line)
		return errors.Join(err, results.Failures(line))
	})
}

func (d *Demo) newRun(ctx context.Context, policy string) (*Run, error) {
	image, python, folders := d.Image, d.Python, []string(nil)
	if image == "" {
		var err error
		if image, err = d.connection.MachineImage(ctx, imageWithin); err != nil {
			return nil, err
		}
		python, folders = "/usr/bin/python3", training.MachineFolders()
	}
	name := policy
	if name == "" {
		name = "as installed"
	}
	id := "demo-" + time.Now().UTC().Format("150405")
	return &Run{
		Policy: name, Jobs: d.Jobs, Scripts: d.Scripts, Cluster: d.connection, Screen: d.Screen, Folder: d.Folder, Timeout: d.Timeout,
		Setup: training.Setup{Namespace: id, Run: id, Image: image, Python: python, MachineFolders: folders},
	}, nil
}

// conclude writes what there is.
func (d *Demo) conclude() error {
	if len(d.runs) == 0 {
		return nil
	}
	run, other := d.runs[0], (*timeline.Timeline)(nil)
	if len(d.runs) > 1 {
		other = d.runs[1]
	}
	d.Summary.Machine = results.ThisMachine(run.Last().Nodes)
	d.Summary.Conclude(d.Jobs, run, other)
	results.Report(d.Report, d.Jobs, run, other)
	err := errors.Join(d.Folder.Jobs(d.runs...), d.Folder.Plot(plot.SVG(run, other)), d.Folder.Summary(d.Summary))
	fmt.Fprintf(d.Report, "\nResults: %s\n", d.Folder.Path)
	return err
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
