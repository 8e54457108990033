package clusterrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/demo"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth/policy"
)

const (
	// readyWithin bounds the time until an installation is ready for pods, imageWithin until kubelet lists an image, clearWithin the
	// deletion of a phase's objects.
	readyWithin, imageWithin, clearWithin = 3 * time.Minute, time.Minute, 2 * time.Minute
	// phaseWithin bounds one phase.
	phaseWithin = 20 * time.Minute
)

// Bench plays jobs on a local cluster.
type Bench struct {
	Local   *cluster.Local
	Jobs    workload.Workload
	Scripts map[string]string
	// Cgroups is the root of the cgroup file systems.
	Cgroups string
	Notices io.Writer
	// Settings are those of the installation of the last phase.
	Settings map[string]string

	connection *cluster.Connection
	share      share
	installed  policy.Name
}

// Describe returns what Play would do.
func (b *Bench) Describe() ([]string, error) {
	s, err := shareOf(runtime.NumCPU(), b.Local.Nodes)
	if err != nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("%d nodes, each with %s", b.Local.Nodes, s)}
	for _, phase := range Phases() {
		for _, j := range phase.starts(b.Jobs, b.Local.Nodes) {
			line := fmt.Sprintf("%s: %s, %s, %d steps, at %s", phase, j.Name, j.Kind, j.Steps, j.Arrival)
			if j.node != "" {
				line = fmt.Sprintf("%s: %s, %s, %d steps, on %s", phase, j.Name, j.Kind, j.Steps, j.node)
			}
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// Play plays all phases on a local cluster, which it brings up and takes down unless it is up already.
func (b *Bench) Play(ctx context.Context) (all map[Phase]Played, err error) {
	if b.share, err = shareOf(runtime.NumCPU(), b.Local.Nodes); err != nil {
		return nil, err
	}
	b.Local.UpFlags = []string{"--cpus-per-node=1"}
	b.Local.Components = []string{"moves"}
	checkpoints, err := os.MkdirTemp("", "clusterrun-")
	if err != nil {
		return nil, err
	}
	after := context.WithoutCancel(ctx)
	borrowed, err := b.Local.Borrow(ctx, false, b.say)
	defer func() { err = errors.Join(err, borrowed.GiveBack(after), os.RemoveAll(checkpoints)) }()
	if err != nil {
		return nil, err
	}
	if b.connection, err = cluster.Connect(borrowed.Kubeconfig); err != nil {
		return nil, err
	}
	all = map[Phase]Played{}
	for _, phase := range Phases() {
		played, err := b.phase(ctx, after, phase, checkpoints)
		if err != nil {
			return all, fmt.Errorf("phase %s: %w", phase, err)
		}
		b.say("%s: mean completion %.1f s, makespan %.1f s, %d moves", phase, played.Mean(), played.Makespan, len(played.Moves))
		all[phase] = played
	}
	return all, nil
}

// phase installs what a phase needs and plays it.
func (b *Bench) phase(ctx, after context.Context, phase Phase, checkpoints string) (_ Played, err error) {
	if err := b.install(ctx, phase.policy()); err != nil {
		return Played{}, err
	}
	if err := configure(ctx, b.connection, phase.extender(checkpoints), readyWithin); err != nil {
		return Played{}, err
	}
	image, err := b.connection.MachineImage(ctx, imageWithin)
	if err != nil {
		return Played{}, err
	}
	run := b.run(phase, image)
	if err := run.Prepare(ctx); err != nil {
		return Played{}, err
	}
	defer func() {
		after, cancel := context.WithTimeout(after, clearWithin)
		defer cancel()
		err = errors.Join(err, run.Clear(after))
	}()
	if err := b.ready(ctx, run, phase); err != nil {
		return Played{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, phaseWithin, fmt.Errorf("not all jobs ended within %s", phaseWithin))
	defer cancel()
	p := player{connection: b.connection, setup: run.Setup, checkpoints: checkpoints, say: b.say}
	return p.play(ctx, phase, phase.starts(b.Jobs, b.Local.Nodes))
}

// install installs Trellis with a share policy, unless it is.
func (b *Bench) install(ctx context.Context, name policy.Name) error {
	if b.installed == name {
		return nil
	}
	b.installed = name
	return b.Local.Install(ctx, string(name), policy.DefaultInterval)
}

// run has the namespace of a phase and its objects.
func (b *Bench) run(phase Phase, image string) *demo.Run {
	name := fmt.Sprintf("clusterrun-%s-%s", time.Now().UTC().Format("150405"), phase)
	return &demo.Run{
		Scripts: b.Scripts,
		Cluster: b.connection,
		Setup: training.Setup{
			Namespace:      name,
			Run:            name,
			Image:          image,
			Python:         training.MachinePython,
			MachineFolders: training.MachineFolders(),
		},
	}
}

// ready waits until Trellis is ready for pods, and gives each node its part of the machine.
func (b *Bench) ready(ctx context.Context, run *demo.Run, phase Phase) (err error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	want := cluster.Expectation{Nodes: b.Local.Nodes, Policy: string(phase.policy()), Probe: run.Setup.Pod(b.Jobs[0])}
	if err := b.connection.AwaitReady(ctx, want, func(string) {}); err != nil {
		return err
	}
	if b.Settings, err = b.connection.Settings(ctx); err != nil {
		return err
	}
	for i := range b.Local.Nodes {
		if err := b.share.limit(b.Cgroups, b.Local.Name, nodePrefix+strconv.Itoa(i+1)); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bench) say(format string, values ...any) {
	fmt.Fprintf(b.Notices, "==> "+time.Now().Format(time.TimeOnly)+" "+format+"\n", values...)
}
