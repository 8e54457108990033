package enforce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
)

const (
	// patchTimeout bounds one call of the API server.
	patchTimeout = 5 * time.Second
	// readEvery and readFor are how often and how long a weight is looked for; kubelet takes one to four seconds.
	readEvery = 250 * time.Millisecond
	readFor   = 6 * time.Second
)

// Weights reads a pod's cgroup.
type Weights interface {
	Usage(pod growth.PodUID, now time.Time) (cgroup.Usage, error)
}

// Worker applies the newest wish. Everything it has done comes to results, in its own goroutine.
type Worker struct {
	pods    corev1client.PodsGetter
	weights Weights
	log     *slog.Logger
	results func(Result)
	newest  chan []Target
}

// New returns a worker; Run makes it work.
func New(pods corev1client.PodsGetter, weights Weights, log *slog.Logger, results func(Result)) *Worker {
	return &Worker{pods: pods, weights: weights, log: log, results: results, newest: make(chan []Target, 1)}
}

// Enforce leaves the targets for the worker, in place of any that it has not begun. It never waits, and is for one
// caller at a time.
func (w *Worker) Enforce(targets []Target) {
	select {
	case <-w.newest:
	default:
	}
	w.newest <- targets
}

// Run works until ctx ends. A resize that has begun is left as it is: kubelet finishes it.
func (w *Worker) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case targets := <-w.newest:
			w.apply(ctx, targets)
		}
	}
}

// pending is a resize whose weight has not been read back.
type pending struct {
	target Target
	before cgroup.Usage
	now    cgroup.Usage
	ok     bool
}

func (w *Worker) apply(ctx context.Context, targets []Target) {
	var lower, raise []Target
	for _, t := range targets {
		if t.To < t.From {
			lower = append(lower, t)
		} else {
			raise = append(raise, t)
		}
	}
	// 1. Lower, and see it done: only then is there room. 2. Raise.
	w.readBack(ctx, w.resizeAll(ctx, lower))
	w.readBack(ctx, w.resizeAll(ctx, raise))
}

func (w *Worker) resizeAll(ctx context.Context, targets []Target) []*pending {
	var resized []*pending
	for _, t := range targets {
		before, _ := w.weights.Usage(t.Pod.UID, time.Now()) // unknown is zero: any weight then is new
		if err := w.resize(ctx, t); err != nil {
			if ctx.Err() == nil {
				w.results(Result{Target: t, Err: err})
			}
			continue
		}
		resized = append(resized, &pending{target: t, before: before})
	}
	return resized
}

func (w *Worker) resize(ctx context.Context, t Target) error {
	if t.Keep != "" {
		patch, err := t.keeping()
		if err != nil {
			return fmt.Errorf("keeping the CPU request of %s: %w", t.Pod, err)
		}
		if err := w.patch(ctx, t.Pod, types.MergePatchType, patch); err != nil {
			return fmt.Errorf("keeping the CPU request of %s: %w", t.Pod, err)
		}
	}
	patch, err := t.resizing()
	if err != nil {
		return err
	}
	if err := w.patch(ctx, t.Pod, types.StrategicMergePatchType, patch, "resize"); err != nil {
		return fmt.Errorf("resizing %s from %s to %s of CPU: %w", t.Pod, t.From, t.To, err)
	}
	return nil
}

func (w *Worker) patch(ctx context.Context, pod growth.PodRef, kind types.PatchType, patch []byte, subresource ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patchTimeout)
	defer cancel()
	_, err := w.pods.Pods(pod.Namespace).Patch(ctx, pod.Name, kind, patch, metav1.PatchOptions{}, subresource...)
	return err
}

// Gone tells that the pod of a result no longer exists, which is no failure.
func (r Result) Gone() bool {
	return apierrors.IsNotFound(r.Err) || apierrors.IsConflict(r.Err) || errors.Is(r.Err, errGone)
}

// Refused tells that asking for the same again will not help: the API server says that it may not be.
func (r Result) Refused() bool { return apierrors.IsInvalid(r.Err) || apierrors.IsForbidden(r.Err) }

var errGone = errors.New("the pod is gone")

// readBack looks until all weights are the new ones, or for as long as readFor.
func (w *Worker) readBack(ctx context.Context, resized []*pending) {
	deadline := time.Now().Add(readFor)
	for {
		waiting := 0
		for _, p := range resized {
			if !p.ok && !w.look(p) {
				waiting++
			}
		}
		if waiting == 0 || !time.Now().Before(deadline) {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(readEvery):
		}
	}
	for _, p := range resized {
		if !p.ok {
			w.log.Warn("a weight is not the new one yet", "pod", p.target.Pod.String(), "request", p.target.To.String(), "weight", p.now.Weight)
		}
		w.results(Result{Target: p.target, Weight: p.now.Weight, Verified: p.ok})
	}
}

// look reads once. kubelet's formula says what the weight must be; on v2, where another kubelet may have another one, a weight
// that has moved counts as new, too.
func (w *Worker) look(p *pending) bool {
	now, err := w.weights.Usage(p.target.Pod.UID, time.Now())
	if err != nil {
		return false
	}
	p.now = now
	if now.Version == 1 {
		p.ok = now.Weight == cgroup.SharesOf(p.target.To)
	} else {
		p.ok = now.Weight == cgroup.WeightOf(p.target.To) || now.Weight != p.before.Weight
	}
	return p.ok
}
