package enforce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

const (
	// callTimeout bounds one call to the API server.
	callTimeout = 5 * time.Second
	// maxAttempts bounds the attempts to resize a pod that other clients change at the same time.
	maxAttempts = 5
	// readPeriod is the time between two reads of a weight. readTimeout bounds the wait for a new weight: kubelet needs
	// one to four seconds.
	readPeriod  = 250 * time.Millisecond
	readTimeout = 6 * time.Second
)

// Weights reads a pod's cgroup.
type Weights interface {
	Usage(pod growth.PodUID, now time.Time) (cgroup.Usage, error)
}

// Worker resizes pods. It calls results, in its own goroutine, with the result of every resize.
type Worker struct {
	pods    corev1client.PodsGetter
	weights Weights
	log     *slog.Logger
	results func(Result)
	newest  chan []node.Resize
	memory  chan memoryResize
}

// New returns a worker. Run starts it.
func New(pods corev1client.PodsGetter, weights Weights, log *slog.Logger, results func(Result)) *Worker {
	return &Worker{
		pods:    pods,
		weights: weights,
		log:     log,
		results: results,
		newest:  make(chan []node.Resize, 1),
		memory:  make(chan memoryResize, maxMemoryResizes),
	}
}

// Enforce passes resizes to the worker. They replace those that it has not begun. It never blocks, and must not be
// called concurrently.
func (w *Worker) Enforce(resizes []node.Resize) {
	select {
	case <-w.newest:
	default:
	}
	w.newest <- resizes
}

// Run resizes pods until ctx ends. kubelet finishes a resize that has begun.
func (w *Worker) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case resizes := <-w.newest:
			w.apply(ctx, resizes)
		case m := <-w.memory:
			err := w.resizeMemory(ctx, m.resize)
			if ctx.Err() == nil {
				m.result(m.resize, err)
			}
		}
	}
}

// pending is a resize whose weight has not been read back.
type pending struct {
	resize node.Resize
	before cgroup.Usage
	now    cgroup.Usage
	ok     bool
}

// failure is a resize that was not made.
type failure struct {
	resize node.Resize
	err    error
}

// apply lowers requests, and raises others right after that. Kubelet receives the changes in this order, and it admits
// lowered requests before raised ones. Waiting for it in between would let the scheduler see room on the node that is
// about to be taken: a pod that it binds there would fail with OutOfcpu.
func (w *Worker) apply(ctx context.Context, resizes []node.Resize) {
	var lower, raise []node.Resize
	for _, r := range resizes {
		if r.To < r.From {
			lower = append(lower, r)
		} else {
			raise = append(raise, r)
		}
	}
	lowered, failed := w.resizeAll(ctx, lower)
	w.report(ctx, failed)
	raise, postponed := affordable(raise, failed)
	w.report(ctx, postponed)
	raised, refused := w.resizeAll(ctx, raise)
	refused = w.reportUnless(ctx, refused, func(f failure) bool { return isOverQuota(f) && inNamespaceOf(lowered, f) })
	w.readBack(ctx, append(lowered, raised...))
	w.readBack(ctx, w.retryQuota(ctx, refused))
}

// errNotReleased is the error of a raise that needs the CPU of a pod that could not be lowered.
var errNotReleased = errors.New("the CPU for it was not released by another pod")

// affordable returns the raises that need no CPU of the pods that could not be lowered. The sum of all requests then stays
// within the pool. The largest raises are postponed.
func affordable(raise []node.Resize, failed []failure) (now []node.Resize, postponed []failure) {
	missing := growth.MilliCPU(0)
	for _, f := range failed {
		missing += f.resize.From - f.resize.To
	}
	now = slices.Clone(raise)
	slices.SortStableFunc(now, func(a, b node.Resize) int { return cmp.Compare(a.To-a.From, b.To-b.From) })
	for missing > 0 && len(now) > 0 {
		last := now[len(now)-1]
		if last.To == last.From {
			break
		}
		now = now[:len(now)-1]
		missing -= last.To - last.From
		postponed = append(postponed, failure{last, errNotReleased})
	}
	return now, postponed
}

func inNamespaceOf(lowered []*pending, f failure) bool {
	return slices.ContainsFunc(lowered, func(p *pending) bool { return p.resize.Pod.Namespace == f.resize.Pod.Namespace })
}

func (w *Worker) resizeAll(ctx context.Context, resizes []node.Resize) (resized []*pending, failed []failure) {
	for _, r := range resizes {
		before, _ := w.weights.Usage(r.Pod.UID, time.Now()) // if it is unknown, any weight is new
		if err := w.resize(ctx, r); err != nil {
			failed = append(failed, failure{r, err})
			continue
		}
		resized = append(resized, &pending{resize: r, before: before})
	}
	return resized, failed
}

// report passes failures on, unless they are due to the end of ctx.
func (w *Worker) report(ctx context.Context, failed []failure) {
	w.reportUnless(ctx, failed, func(failure) bool { return false })
}

// reportUnless returns the failures that are retried, and reports the others.
func (w *Worker) reportUnless(ctx context.Context, failed []failure, retried func(failure) bool) (rest []failure) {
	for _, f := range failed {
		switch {
		case ctx.Err() != nil:
		case retried(f):
			rest = append(rest, f)
		default:
			w.results(Result{Resize: f.resize, Err: f.err})
		}
	}
	return rest
}

// resize resizes a pod unless another client has changed its requests since the decision. The pod's status changes often,
// which is a conflict too, so conflicts are retried.
func (w *Worker) resize(ctx context.Context, r node.Resize) error {
	err := w.resizeOnce(ctx, r)
	for attempt := 1; attempt < maxAttempts && apierrors.IsConflict(err); attempt++ {
		err = w.resizeOnce(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("resizing %s from %s to %s of CPU: %w", r.Pod, r.From, r.To, err)
	}
	return nil
}

// readBack waits until all weights are the new ones, or for readTimeout.
func (w *Worker) readBack(ctx context.Context, resized []*pending) {
	if len(resized) == 0 {
		return
	}
	deadline := time.Now().Add(readTimeout)
	for {
		waiting := 0
		for _, p := range resized {
			if !p.ok && !w.read(p) {
				waiting++
			}
		}
		if waiting == 0 || !time.Now().Before(deadline) {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(readPeriod):
		}
	}
	for _, p := range resized {
		if !p.ok {
			w.log.Info("a weight is not the new one yet",
				"pod", p.resize.Pod.String(), "request", p.resize.To.String(), "weight", p.now.Weight)
		}
		w.results(Result{Resize: p.resize, Weight: p.now.Weight, Verified: p.ok})
	}
}

// read reads a weight.
func (w *Worker) read(p *pending) bool {
	now, err := w.weights.Usage(p.resize.Pod.UID, time.Now())
	if err != nil {
		return false
	}
	p.now = now
	p.ok = cgroup.Applied(now.Version, p.before.Weight, now.Weight, p.resize.From, p.resize.To)
	return p.ok
}
