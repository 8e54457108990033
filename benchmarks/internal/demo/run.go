package demo

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/table"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

const (
	// lookEvery is the time between two readings.
	lookEvery = time.Second
	// patience bounds how long an error may persist before the run fails.
	patience = 30 * time.Second
)

// Screen shows a run.
type Screen interface {
	Say(table.Event)
	Show(*timeline.Timeline)
	Done()
}

// Run is one pass of a workload.
type Run struct {
	Policy string
	// Round distinguishes passes under the same policy, from 1.
	Round   int
	Jobs    workload.Workload
	Setup   training.Setup
	Scripts map[string]string
	Cluster *cluster.Connection
	Screen  Screen
	Folder  *results.Folder
	Timeout time.Duration
	// Chaos kills binaries of Trellis during the run; nil for no chaos.
	Chaos *chaos.Chaos

	line          timeline.Timeline
	submitted     int
	refused       refused
	stories       cluster.Stories
	announcements announcements
	gpuShares     gpuShares
	restarts      restarts
	// failing is the time of the first error of the API server since its last success.
	failing time.Time
}

// Prepare creates the namespace and the objects that the jobs need.
func (r *Run) Prepare(ctx context.Context) error {
	core := r.Cluster.Kubernetes.CoreV1()
	if _, err := core.Namespaces().Create(ctx, r.Setup.Room(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("namespace %s: %w", r.Setup.Namespace, err)
	}
	if _, err := core.ConfigMaps(r.Setup.Namespace).Create(ctx, r.Setup.Scripts(r.Scripts), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("the jobs' programs: %w", err)
	}
	return r.Cluster.AwaitAccount(ctx, r.Setup.Namespace, patience)
}

// Watch submits the jobs as they arrive and reads the cluster until all have ended. It returns the timeline also with
// an error.
func (r *Run) Watch(ctx context.Context) (*timeline.Timeline, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, fmt.Errorf("not all jobs ended within %s", r.Timeout))
	defer cancel()
	defer r.Screen.Done()
	// Timestamps of Kubernetes are whole seconds.
	r.line = timeline.Timeline{Name: r.Policy, Began: time.Now().Truncate(time.Second)}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := r.tolerate(r.step(ctx)); err != nil && ctx.Err() == nil {
			return &r.line, err
		}
		if r.over() {
			r.line.Reports = r.reports(ctx)
			return &r.line, r.Folder.Reports(&r.line, r.Round)
		}
		select {
		case <-ctx.Done():
			return &r.line, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// over reports whether all jobs have ended, and all killed binaries are back or overdue.
func (r *Run) over() bool {
	return len(r.line.Readings) > 0 && r.line.Last().Over() && (r.Chaos == nil || r.Chaos.Settled(time.Since(r.line.Began)))
}

// tolerate ignores an error until it has persisted for patience.
func (r *Run) tolerate(err error) error {
	switch {
	case err == nil:
		r.failing = time.Time{}
		return nil
	case r.failing.IsZero():
		r.failing = time.Now()
		r.Folder.Log.Warn("a look at the cluster failed", "err", err)
	}
	if time.Since(r.failing) > patience {
		return err
	}
	return nil
}

// step is one cycle: submit, read, report.
func (r *Run) step(ctx context.Context) error {
	// 1. Submit the jobs that have arrived.
	if err := r.submit(ctx); err != nil {
		return err
	}
	// 2. Read the state of the cluster.
	pods, err := r.Cluster.Kubernetes.CoreV1().Pods(r.Setup.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	if err := r.clearRefused(ctx, pods); err != nil {
		return err
	}
	sight := training.Sight{At: time.Now(), Pods: pods.Items}
	sight.State, sight.Unavailable = r.Cluster.State(ctx)
	stories, err := r.stories.New(ctx, r.Cluster, r.Setup.Namespace)
	if err != nil {
		return err
	}
	// 3. Compute the changes.
	reading := training.Reading(r.Jobs, r.submitted, sight)
	r.refused.correct(&reading)
	changes := r.line.Add(reading)
	// 4. Report them.
	if err := r.tell(stories, changes); err != nil {
		return err
	}
	// 5. Execute due strikes.
	r.trouble(ctx)
	return nil
}

// trouble executes due strikes. It tolerates errors: they are expected under chaos.
func (r *Run) trouble(ctx context.Context) {
	if r.Chaos == nil || ctx.Err() != nil {
		return
	}
	news, err := r.Chaos.Turn(ctx, time.Since(r.line.Began))
	for _, n := range news {
		r.Folder.Log.Info("chaos", "policy", r.Policy, "binary", n.Binary, "killed", n.Killed, "back", n.Returned, "restarts", n.Restarts)
		r.Screen.Say(strikeEvent(n, time.Now()))
	}
	if err != nil {
		r.Folder.Log.Warn("chaos has its turn later", "err", err)
	}
}

func (r *Run) submit(ctx context.Context) error {
	for _, job := range r.Jobs[:r.submitted] {
		if !r.refused.owed(job.Name) {
			continue
		}
		if err := r.create(ctx, job); err != nil {
			return err
		}
		r.refused.paid(job.Name)
	}
	for r.submitted < len(r.Jobs) && time.Since(r.line.Began) >= r.Jobs[r.submitted].Arrival {
		if err := r.create(ctx, r.Jobs[r.submitted]); err != nil {
			return err
		}
		r.submitted++
	}
	return nil
}

func (r *Run) create(ctx context.Context, job workload.Job) error {
	_, err := r.Cluster.Kubernetes.CoreV1().Pods(r.Setup.Namespace).Create(ctx, r.Setup.Pod(job), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("submitting %s: %w", job.Name, err)
	}
	return nil
}

func (r *Run) tell(stories []cluster.Story, changes []timeline.Change) error {
	for _, s := range stories {
		r.Folder.Log.Info("event", "policy", r.Policy, "job", s.Object, "from", s.From, "reason", s.Reason, "text", s.Text, "warning", s.Warning)
		r.restarts.add(s)
		if worthSaying(s) {
			r.announcements.add(s)
			r.Screen.Say(said(s))
		}
	}
	for _, c := range changes {
		r.Folder.Log.Info("change", "policy", r.Policy, "job", c.Job, "kind", c.Kind, "what", c.What, "from", c.From, "to", c.To)
		if c.What == timeline.GPUShareChange && !r.gpuShares.noticeable(&c, r.line.Last()) {
			continue
		}
		if !r.announcements.announced(c) {
			r.Screen.Say(table.Described(c))
		}
	}
	last := r.line.Last()
	if err := r.Folder.Sample(r.Policy, r.Round, last.At.Sub(r.line.Began), last); err != nil {
		return err
	}
	r.Screen.Show(&r.line)
	return nil
}

// Clear deletes the namespace and waits until it is gone with its pods, so that nothing of this run disturbs the
// next.
func (r *Run) Clear(ctx context.Context) error {
	core := r.Cluster.Kubernetes.CoreV1()
	err := core.Namespaces().Delete(ctx, r.Setup.Namespace, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting namespace %s: %w", r.Setup.Namespace, err)
	}
	for {
		if _, err := core.Namespaces().Get(ctx, r.Setup.Namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("deleting namespace %s: %w", r.Setup.Namespace, context.Cause(ctx))
		case <-time.After(lookEvery / 2):
		}
	}
}
