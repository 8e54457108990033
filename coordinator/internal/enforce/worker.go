package enforce

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

const (
	// patchTimeout bounds one call to the API server.
	patchTimeout = 5 * time.Second
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
}

// New returns a worker. Run starts it.
func New(pods corev1client.PodsGetter, weights Weights, log *slog.Logger, results func(Result)) *Worker {
	return &Worker{
		pods:    pods,
		weights: weights,
		log:     log,
		results: results,
		newest:  make(chan []node.Resize, 1),
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

func (w *Worker) apply(ctx context.Context, resizes []node.Resize) {
	var lower, raise []node.Resize
	for _, r := range resizes {
		if r.To < r.From {
			lower = append(lower, r)
		} else {
			raise = append(raise, r)
		}
	}
	// kubelet admits the raised requests only after the others have been lowered.
	w.readBack(ctx, w.resizeAll(ctx, lower))
	w.readBack(ctx, w.resizeAll(ctx, raise))
}

func (w *Worker) resizeAll(ctx context.Context, resizes []node.Resize) []*pending {
	var resized []*pending
	for _, r := range resizes {
		before, _ := w.weights.Usage(r.Pod.UID, time.Now()) // if it is unknown, any weight is new
		if err := w.resize(ctx, r); err != nil {
			if ctx.Err() == nil {
				w.results(Result{Resize: r, Err: err})
			}
			continue
		}
		resized = append(resized, &pending{resize: r, before: before})
	}
	return resized
}

func (w *Worker) resize(ctx context.Context, r node.Resize) error {
	if r.Original != "" {
		patch, err := originalPatch(r)
		if err != nil {
			return fmt.Errorf("keeping the CPU request of %s: %w", r.Pod, err)
		}
		if err := w.patch(ctx, r.Pod, types.MergePatchType, patch); err != nil {
			return fmt.Errorf("keeping the CPU request of %s: %w", r.Pod, err)
		}
	}
	patch, err := resizePatch(r)
	if err != nil {
		return err
	}
	if err := w.patch(ctx, r.Pod, types.StrategicMergePatchType, patch, "resize"); err != nil {
		return fmt.Errorf("resizing %s from %s to %s of CPU: %w", r.Pod, r.From, r.To, err)
	}
	return nil
}

func (w *Worker) patch(ctx context.Context, pod growth.PodRef, kind types.PatchType, patch []byte, subresource ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patchTimeout)
	defer cancel()
	_, err := w.pods.Pods(pod.Namespace).Patch(ctx, pod.Name, kind, patch, metav1.PatchOptions{}, subresource...)
	return err
}

// readBack waits until all weights are the new ones, or for readTimeout.
func (w *Worker) readBack(ctx context.Context, resized []*pending) {
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
			w.log.Warn("a weight is not the new one yet",
				"pod", p.resize.Pod.String(), "request", p.resize.To.String(), "weight", p.now.Weight)
		}
		w.results(Result{Resize: p.resize, Weight: p.now.Weight, Verified: p.ok})
	}
}

// read reads a weight and compares it with kubelet's formula. On cgroup v2, where the formula depends on kubelet's
// version, any change of the weight counts.
func (w *Worker) read(p *pending) bool {
	now, err := w.weights.Usage(p.resize.Pod.UID, time.Now())
	if err != nil {
		return false
	}
	p.now = now
	if now.Version == 1 {
		p.ok = now.Weight == cgroup.SharesOf(p.resize.To)
	} else {
		p.ok = now.Weight == cgroup.WeightOf(p.resize.To) || now.Weight != p.before.Weight
	}
	return p.ok
}
