package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// patience bounds a whole Bind, below kube-scheduler's own 5 s, so that our sentence arrives rather than its "timeout". A
// Bind goes on when the scheduler hangs up, so that it ends in a state that is known.
const patience = 4 * time.Second

// rebinds bounds how often a Binding is posted for a pod that others keep writing to.
const rebinds = 3

// Bind has the pod bound to the node, with its GPUs reserved. It may be called again for the same pod.
func (d *Decider) Bind(ctx context.Context, ref growth.PodRef, node growth.NodeName) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	gpus, err := d.place(ctx, ref, node)
	d.Decisions.ended(ref, node, gpus, err)
	return err
}

// place binds, and returns the GPUs that the pod has or would have had.
func (d *Decider) place(ctx context.Context, ref growth.PodRef, node growth.NodeName) ([]growth.GPUShare, error) {
	// 1. The pod.
	pod, err := d.pod(ctx, ref)
	if err != nil {
		return nil, err
	}
	if pod.Node != "" {
		return nil, settled(pod, node)
	}
	// 2. Its GPUs.
	reserved, revision, err := d.secure(ctx, pod, node)
	if err != nil {
		return nil, err
	}
	// 3. The Binding.
	err = d.bind(ctx, pod, node, reserved.GPUs, d.told(pod, node, reserved.GPUs))
	if err == nil {
		d.Log.Info("bound", "pod", ref, "node", node, "gpus", request.Annotation(reserved.GPUs), "memory", reserved.GPUs[0].Memory)
		return reserved.GPUs, nil
	}
	// 4. The reservation of a refused one.
	if refused(err) && !errors.Is(err, errKept) {
		d.undo(ctx, ref, node, revision)
	}
	return reserved.GPUs, fmt.Errorf("binding pod %s to node %s: %w: %w", ref, node, ErrRefused, err)
}

// undo gives a reservation back that nobody will use.
func (d *Decider) undo(ctx context.Context, ref growth.PodRef, node growth.NodeName, revision bus.Revision) {
	if revision == 0 {
		d.Held.Drop(ref.UID, node)
		return
	}
	if err := d.Ledger.Release(ctx, node, ref, revision); err != nil {
		d.Log.Warn("a reservation stays until it expires", "pod", ref, "node", node, "reason", err)
		return
	}
	d.own.Released(node, ref.UID)
}

// pod returns the pod, from the snapshot or, where that lags, from the API server.
func (d *Decider) pod(ctx context.Context, ref growth.PodRef) (request.Pod, error) {
	if pod, ok := d.View.Snapshot().Pods.Get(ref.UID); ok {
		return sensible(*pod)
	}
	return d.fetch(ctx, ref)
}

func (d *Decider) fetch(ctx context.Context, ref growth.PodRef) (request.Pod, error) {
	object, err := d.API.Pod(ctx, ref.Namespace, ref.Name)
	if apierrors.IsNotFound(err) || err == nil && growth.PodUID(object.UID) != ref.UID {
		return request.Pod{}, fmt.Errorf("pod %s with UID %s: %w", ref, ref.UID, ErrGone)
	}
	if err != nil {
		return request.Pod{}, fmt.Errorf("reading pod %s: %w", ref, err)
	}
	pod, asks := request.Read(object, d.Resource)
	if !asks {
		return request.Pod{}, fmt.Errorf("pod %s asks for no share of a GPU: this extender must not bind it", ref)
	}
	return sensible(pod)
}

func sensible(pod request.Pod) (request.Pod, error) {
	if pod.Nonsense != nil && pod.Node == "" {
		return request.Pod{}, fmt.Errorf("pod %s: %w", pod.Ref, pod.Nonsense)
	}
	return pod, nil
}

// settled answers for a pod that is bound: to this node is what was asked for.
func settled(pod request.Pod, node growth.NodeName) error {
	if pod.Node == node {
		return nil
	}
	return fmt.Errorf("pod %s: %w, to node %s", pod.Ref, ErrElsewhere, pod.Node)
}

// bind calls the API server, and again only if the pod was written to since it was last seen, as the scheduler itself
// does when it notes why a pod waits, or as another replica does.
func (d *Decider) bind(ctx context.Context, pod request.Pod, node growth.NodeName, gpus []growth.GPUShare, told map[string]string) error {
	var err error
	for range rebinds {
		if err = d.API.Bind(ctx, binding(pod, node, told)); !apierrors.IsConflict(err) {
			return err
		}
		now, fetched := d.fetch(ctx, pod.Ref)
		switch {
		case errors.Is(fetched, ErrGone):
			return errors.Join(err, fetched)
		case fetched != nil:
			return fmt.Errorf("%w: %w: %w", errKept, err, fetched)
		case now.Node == node && request.Annotation(gpus) == joined(now.GPUs):
			return nil // an earlier try of ours arrived after all
		case now.Node == node:
			return fmt.Errorf("%w: bound here on %s: %w", errKept, joined(now.GPUs), err)
		case now.Node != "" || now.ResourceVersion == pod.ResourceVersion:
			return err
		}
		pod = now
	}
	return fmt.Errorf("%w: %w", errKept, err)
}

func binding(pod request.Pod, node growth.NodeName, told map[string]string) *corev1.Binding {
	return &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Ref.Namespace, Name: pod.Ref.Name, UID: types.UID(pod.Ref.UID), ResourceVersion: pod.ResourceVersion,
			Annotations: told,
		},
		Target: corev1.ObjectReference{Kind: "Node", Name: string(node)},
	}
}

func joined(gpus []growth.GPU) string {
	shares := make([]growth.GPUShare, len(gpus))
	for i, g := range gpus {
		shares[i].GPU = g
	}
	return request.Annotation(shares)
}

// reservation is what is written for a pod.
func reservation(pod request.Pod, gpus []growth.GPUShare) bus.Reservation {
	return bus.Reservation{Pod: pod.Ref, Created: pod.Created, GPUs: gpus, Containers: pod.Request.ContainerRequests()}
}
