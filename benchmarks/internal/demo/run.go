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
	// lookEvery is how often a run looks at the cluster.
	lookEvery = time.Second
	// patience is how long one thing may go wrong before the run gives up.
	patience = 30 * time.Second
)

// Screen shows a run as it goes.
type Screen interface {
	Say(table.Event)
	Show(*timeline.Timeline)
	Done()
}

// Run is one pass of a workload.
type Run struct {
	Policy string
	// Round tells passes under the same policy apart, from 1.
	Round   int
	Jobs    workload.Workload
	Setup   training.Setup
	Scripts map[string]string
	Cluster *cluster.Connection
	Screen  Screen
	Folder  *results.Folder
	Timeout time.Duration
	// Chaos kills Trellis' binaries as the run goes, or is nil.
	Chaos *chaos.Chaos

	line      timeline.Timeline
	submitted int
	refused   refused
	stories   cluster.Stories
	rumours   rumours
	// failing is since when the API server has refused or not answered.
	failing time.Time
}

// Prepare makes the namespace and what the jobs need in it.
func (r *Run) Prepare(ctx context.Context) error {
	core := r.Cluster.Kubernetes.CoreV1()
	if _, err := core.Namespaces().Create(ctx, r.Setup.Room(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("namespace %s: %w", r.Setup.Namespace, err)
	}
	if _, err := core.ConfigMaps(r.Setup.Namespace).Create(ctx, r.Setup.Scripts(r.Scripts), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("the jobs' programs: %w", err)
	}
	return r.awaitAccount(ctx)
}

// awaitAccount waits for the service account without which no pod is admitted.
func (r *Run) awaitAccount(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not made within %s: is a controller-manager running?", patience))
	defer cancel()
	for {
		_, err := r.Cluster.Kubernetes.CoreV1().ServiceAccounts(r.Setup.Namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("service account of namespace %s: %w", r.Setup.Namespace, context.Cause(ctx))
		case <-time.After(lookEvery / 4):
		}
	}
}

// Watch submits the jobs as they arrive and looks until all are over. The timeline is what was seen until then, also when
// there is an error.
func (r *Run) Watch(ctx context.Context) (*timeline.Timeline, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, fmt.Errorf("not all jobs ended within %s", r.Timeout))
	defer cancel()
	defer r.Screen.Done()
	// Kubernetes tells times in whole seconds.
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

// over tells whether all jobs have come to an end, and what was killed as well.
func (r *Run) over() bool {
	return len(r.line.Readings) > 0 && r.line.Last().Over() && (r.Chaos == nil || r.Chaos.Settled(time.Since(r.line.Began)))
}

// tolerate turns an error into none until it has lasted.
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

// step is one turn: submit, look, tell.
func (r *Run) step(ctx context.Context) error {
	// 1. What has arrived by now.
	if err := r.submit(ctx); err != nil {
		return err
	}
	// 2. One look at everything.
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
	// 3. What is new in it.
	reading := training.Reading(r.Jobs, r.submitted, sight)
	r.refused.correct(&reading)
	changes := r.line.Add(reading)
	// 4. Tell it.
	if err := r.tell(stories, changes); err != nil {
		return err
	}
	// 5. Make trouble, where that is asked for.
	r.trouble(ctx)
	return nil
}

// trouble gives chaos its turn. That something can not be asked just now is what chaos is about.
func (r *Run) trouble(ctx context.Context) {
	if r.Chaos == nil || ctx.Err() != nil {
		return
	}
	news, err := r.Chaos.Turn(ctx, time.Since(r.line.Began))
	for _, n := range news {
		r.Folder.Log.Info("chaos", "policy", r.Policy, "binary", n.Binary, "killed", n.Killed, "back", n.Returned, "restarts", n.Restarts)
		r.Screen.Say(havoc(n, time.Now()))
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
		if worthSaying(s) {
			r.rumours.hear(s)
			r.Screen.Say(said(s))
		}
	}
	for _, c := range changes {
		r.Folder.Log.Info("change", "policy", r.Policy, "job", c.Job, "kind", c.Kind, "what", c.What, "from", c.From, "to", c.To)
		if !r.rumours.told(c) {
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

// Clear deletes the namespace and waits until it is gone, with its pods, so that nothing of this run disturbs what comes next.
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
