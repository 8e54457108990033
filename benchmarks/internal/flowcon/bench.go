package flowcon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/demo"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth/policy"
)

const (
	// readyWithin bounds the time until an installation is ready for pods, imageWithin until kubelet lists an image,
	// clearWithin the deletion of a pass's objects.
	readyWithin, imageWithin, clearWithin = 3 * time.Minute, time.Minute, time.Minute
	// passWithin bounds one pass.
	passWithin = time.Hour
)

// Bench runs passes on a local cluster. Each of its nodes has one core, or with OnGPU two, one of which is the GPU's; the nodes run
// different repeats at the same time.
type Bench struct {
	Local   *cluster.Local
	Journal Journal
	Scripts map[string]string
	Seed    uint64
	Quick   bool
	Commit  string
	// Keep is the folder for the samples and charts of each pass; empty for none.
	Keep string
	// Playing is the number of nodes that play repeats at the same time.
	Playing int
	// Remember uses one namespace for all repeats of a variant: forecasts for later jobs come from the earlier ones.
	Remember bool
	// OnGPU lets all jobs compute on the emulated GPU of their node, and prepare their data on its CPU.
	OnGPU bool
	// Until is the time after which no pass begins; zero for no limit.
	Until   time.Time
	Notices io.Writer

	connection *cluster.Connection
	installed  string
	settings   map[string]string // of the installed variant
}

// Play runs the passes and appends each complete one to the journal.
func (b *Bench) Play(ctx context.Context, passes []Pass) (err error) {
	if len(passes) == 0 {
		return nil
	}
	after := context.WithoutCancel(ctx)
	borrowed, err := b.Local.Borrow(ctx, false, b.say)
	defer func() { err = errors.Join(err, borrowed.GiveBack(after)) }()
	if err != nil {
		return err
	}
	if b.connection, err = cluster.Connect(borrowed.Kubeconfig); err != nil {
		return err
	}
	for i, p := range passes {
		if !b.Until.IsZero() && time.Now().After(b.Until) {
			b.say("the time limit is reached: %d passes remain for another call", len(passes)-i)
			return nil
		}
		b.say("pass %d of %d: %s", i+1, len(passes), p)
		if err := b.pass(ctx, after, p); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// pass runs one pass: each repeat on its own node.
func (b *Bench) pass(ctx, after context.Context, p Pass) error {
	if err := b.install(ctx, p.Variant); err != nil {
		return err
	}
	image, err := b.connection.MachineImage(ctx, imageWithin)
	if err != nil {
		return err
	}
	records, errs := make([]Record, len(p.Repeats)), make([]error, len(p.Repeats))
	var running sync.WaitGroup
	for i, repeat := range p.Repeats {
		running.Go(func() { records[i], errs[i] = b.play(ctx, after, p, image, repeat) })
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, r := range records {
		b.say("%s: mean completion %.1f s, makespan %.1f s", Pass{p.Schedule, p.Variant, []int{r.Repeat}}, mean(r.Jobs), r.Makespan)
	}
	return b.Journal.Add(records...)
}

func (b *Bench) install(ctx context.Context, variant string) error {
	variant, _, _ = strings.Cut(variant, "+")
	if b.installed == variant {
		return nil
	}
	name, objective := split(variant)
	b.Local.Objective = objective
	if err := b.Local.Install(ctx, name, policy.DefaultInterval); err != nil {
		return err
	}
	settings, err := b.connection.Settings(ctx)
	if err != nil {
		return err
	}
	b.installed, b.settings = variant, settings
	return nil
}

// play runs one repeat of a pass.
func (b *Bench) play(ctx, after context.Context, p Pass, image string, repeat int) (_ Record, err error) {
	node := nodeOf(repeat, b.Playing)
	run := b.newRun(p, image, repeat, node)
	folder := b.Keep
	if folder == "" {
		if folder, err = os.MkdirTemp("", "flowcon-"); err != nil {
			return Record{}, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	}
	files, err := results.Create(filepath.Join(folder, run.Setup.Run))
	if err != nil {
		return Record{}, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	run.Folder = files
	if teacher(p.Variant, node) > 0 {
		if err := b.teach(ctx, after, p, run, node, folder); err != nil {
			return Record{}, fmt.Errorf("the repeat before: %w", err)
		}
	}
	if err := run.Prepare(ctx); err != nil {
		return Record{}, err
	}
	defer func() {
		after, cancel := context.WithTimeout(after, clearWithin)
		defer cancel()
		err = errors.Join(err, run.Clear(after))
	}()
	if err := b.awaitReady(ctx, run, p); err != nil {
		return Record{}, err
	}
	line, err := run.Watch(ctx)
	if err = errors.Join(err, results.Failures(line)); err != nil {
		return Record{}, err
	}
	r := Record{
		Schedule: p.Schedule.Name, Policy: p.Variant, Repeat: run.Round, Seed: b.Seed, Quick: b.Quick, Remember: b.Remember, OnGPU: b.OnGPU, Commit: b.Commit,
		Date: time.Now().UTC().Truncate(time.Second), Machine: results.ThisMachine(line.Last().Nodes), Boot: results.Boot(), Settings: b.settings,
	}
	r.Jobs, r.Makespan = recorded(line)
	return r, nil
}

// newRun returns a repeat on a node, in its own namespace or in that of its variant.
func (b *Bench) newRun(p Pass, image string, repeat, node int) *demo.Run {
	nodes := map[string]string{}
	id := fmt.Sprintf("flowcon-%s-%d", time.Now().UTC().Format("150405"), node)
	namespace := id
	if b.Remember {
		namespace = fmt.Sprintf("flowcon-%s-%d", strings.ReplaceAll(p.Variant, ":", "-"), node)
	}
	schedule := p.Schedule.Repeated(repeat)
	name := fmt.Sprintf("node-%d", node)
	for _, j := range schedule.Jobs {
		nodes[j.Name] = name
	}
	run := &demo.Run{
		Policy: p.Variant, Round: repeat, Jobs: schedule.Jobs, Scripts: b.Scripts, Cluster: b.connection, Screen: silent{}, Timeout: passWithin,
		Setup: training.Setup{
			Namespace: namespace, Run: id, Image: image, Python: training.MachinePython, MachineFolders: training.MachineFolders(), Nodes: nodes,
		},
	}
	if b.OnGPU {
		run.Setup.Computing, run.Setup.NeedCPU = []string{name}, true
		for i := range run.Jobs {
			run.Jobs[i].Device = workload.Emulated
		}
	}
	return run
}

func (b *Bench) awaitReady(ctx context.Context, run *demo.Run, p Pass) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	name, _ := split(p.Variant)
	want := cluster.Expectation{Nodes: b.Local.Nodes, Policy: name, Probe: run.Setup.Pod(p.Schedule.Jobs[0])}
	return b.connection.AwaitReady(ctx, want, func(string) {})
}

func (b *Bench) say(format string, values ...any) {
	fmt.Fprintf(b.Notices, "==> "+time.Now().Format(time.TimeOnly)+" "+format+"\n", values...)
}

func mean(jobs []Job) float64 {
	sum := 0.0
	for _, j := range jobs {
		sum += j.Completion
	}
	return sum / float64(len(jobs))
}
