package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/daemon/jobkind"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// bindTimeout bounds a whole Bind. It is below kube-scheduler's own 5 s, so that the event has the sentence of Bind and not
// "timeout". Bind continues if the scheduler disconnects, so that it ends in a known state.
const bindTimeout = 4 * time.Second

// maxBindings bounds how often a Binding is posted for a pod that is updated at the same time.
const maxBindings = 3

// Bind reserves GPUs of the node for the pod, and binds it. It may be repeated for the same pod.
func (s *Scheduler) Bind(ctx context.Context, ref growth.PodRef, node growth.NodeName) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bindTimeout)
	defer cancel()
	gpus, err := s.bindPod(ctx, ref, node)
	s.decisions.bound(ref.UID, bindResult{at: time.Now(), node: node, gpus: gpus, err: err})
	if err == nil {
		s.nominations.delete(ref.UID)
	}
	return err
}

// bindPod binds, and returns the GPUs that the pod has or would have got.
func (s *Scheduler) bindPod(ctx context.Context, ref growth.PodRef, node growth.NodeName) ([]growth.GPUShare, error) {
	// 1. The pod.
	pod, err := s.pod(ctx, ref)
	if err != nil {
		return nil, err
	}
	if pod.Node != "" {
		return s.alreadyBound(pod, node)
	}
	place, err := s.confirm(ctx, ref, node)
	if err != nil {
		return nil, err
	}
	pod.Continues = cmp.Or(place.Old, s.place(pod).Old)
	if why := s.barred(pod, node); why != "" {
		return nil, fmt.Errorf("pod %s: %w: %s", ref, ErrGangWaits, why)
	}
	// 2. Its GPUs.
	reserved, revision, err := s.reserveOrAssume(ctx, pod, node)
	if err != nil {
		return s.unlessBound(ctx, ref, node, err)
	}
	// 3. The Binding.
	bound, err := s.postBinding(ctx, pod, node, reserved.GPUs)
	if err == nil && bound == nil {
		s.Log.Info("bound", "pod", ref, "node", node, "gpus", request.Annotation(reserved.GPUs), "memory", reserved.GPUs[0].Memory)
		return reserved.GPUs, nil
	}
	// 4. The reservation for a pod that is bound already, or whose Binding is refused.
	if bound != nil {
		if bound.Node != node || request.Annotation(reserved.GPUs) != gpushare.FormatGPUs(bound.GPUs) {
			s.undo(ctx, ref, node, revision)
		}
		return s.alreadyBound(*bound, node)
	}
	if refused(err) && !errors.Is(err, errBoundHere) {
		s.undo(ctx, ref, node, revision)
	}
	return reserved.GPUs, fmt.Errorf("binding pod %s to node %s: %w: %w", ref, node, ErrBindingRefused, err)
}

// confirm returns where a pod that continues a job may run, or an error if it may not run on the node yet.
func (s *Scheduler) confirm(ctx context.Context, ref growth.PodRef, node growth.NodeName) (move.Place, error) {
	if s.Confirm == nil {
		return move.Place{}, nil
	}
	place, err := s.Confirm(ctx, ref)
	if err != nil {
		return move.Place{}, fmt.Errorf("reading pod %s: %w", ref, err)
	}
	if why := elsewhere(place, node); why != "" {
		return move.Place{}, fmt.Errorf("binding pod %s to node %s: %s", ref, node, why)
	}
	return place, nil
}

// undo releases the reservation of a failed bind.
func (s *Scheduler) undo(ctx context.Context, ref growth.PodRef, node growth.NodeName, revision bus.Revision) {
	if revision == 0 {
		s.Assumed.ForgetPending(ref.UID, node)
		return
	}
	if err := s.Store.Release(ctx, node, ref, revision); err != nil {
		s.Log.Warn("a reservation stays until it expires", "pod", ref, "node", node, "err", err)
		return
	}
	s.Assumed.ForgetWritten(node, ref.UID)
}

// pod returns the pod from the snapshot or, if the snapshot lags, from the API server.
func (s *Scheduler) pod(ctx context.Context, ref growth.PodRef) (request.Pod, error) {
	if pod, ok := s.Cache.Snapshot().Pods.Get(ref.UID); ok {
		return validate(*pod)
	}
	return s.fetch(ctx, ref)
}

func (s *Scheduler) fetch(ctx context.Context, ref growth.PodRef) (request.Pod, error) {
	object, err := s.API.Pod(ctx, ref.Namespace, ref.Name)
	if apierrors.IsNotFound(err) || err == nil && growth.PodUID(object.UID) != ref.UID {
		return request.Pod{}, fmt.Errorf("pod %s with UID %s: %w", ref, ref.UID, ErrPodGone)
	}
	if err != nil {
		return request.Pod{}, fmt.Errorf("reading pod %s: %w", ref, err)
	}
	pod, requests := request.Read(object, s.Resource)
	if !requests {
		return request.Pod{}, fmt.Errorf("pod %s asks for no share of a GPU: this extender must not bind it", ref)
	}
	pod.Request.Kind = jobkind.Of(object)
	return validate(pod)
}

func validate(pod request.Pod) (request.Pod, error) {
	if pod.Invalid != nil && pod.Node == "" {
		return request.Pod{}, fmt.Errorf("pod %s: %w", pod.Ref, pod.Invalid)
	}
	return pod, nil
}

// postBinding posts the Binding. It repeats the call only if the pod was updated in the meantime, for example by the
// scheduler's own status updates. It returns the pod if it is bound already: by another replica, or by an earlier call
// whose response was lost.
func (s *Scheduler) postBinding(
	ctx context.Context, pod request.Pod, node growth.NodeName, gpus []growth.GPUShare,
) (bound *request.Pod, err error) {
	annotations := s.annotations(node, gpus)
	for range maxBindings {
		err = s.API.Bind(ctx, newBinding(pod, node, annotations))
		if !apierrors.IsConflict(err) {
			return nil, err
		}
		current, fetchErr := s.fetch(ctx, pod.Ref)
		switch {
		case errors.Is(fetchErr, ErrPodGone):
			return nil, errors.Join(err, fetchErr)
		case fetchErr != nil:
			return nil, fmt.Errorf("%w: %w: %w", errBoundHere, err, fetchErr)
		case current.Node != "":
			return &current, nil
		case current.ResourceVersion == pod.ResourceVersion:
			return nil, err
		}
		pod = current
	}
	return nil, fmt.Errorf("%w: %w", errBoundHere, err)
}

func newBinding(pod request.Pod, node growth.NodeName, annotations map[string]string) *corev1.Binding {
	return &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       pod.Ref.Namespace,
			Name:            pod.Ref.Name,
			UID:             types.UID(pod.Ref.UID),
			ResourceVersion: pod.ResourceVersion,
			Annotations:     annotations,
		},
		Target: corev1.ObjectReference{Kind: "Node", Name: string(node)},
	}
}
