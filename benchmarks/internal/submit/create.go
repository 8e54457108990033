package submit

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
)

// create creates a pod, also if the API server is unavailable for a while.
func (s Submission) create(ctx context.Context, pod *corev1.Pod) error {
	pods := s.Cluster.Kubernetes.CoreV1().Pods(pod.Namespace)
	giveUp := time.Now().Add(patience)
	for attempt := 1; ; attempt++ {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		switch {
		case err == nil:
			return nil
		case apierrors.IsAlreadyExists(err) && attempt > 1 && s.own(ctx, pod):
			return nil // an earlier attempt has created it, and its answer was lost
		case refused(err), ctx.Err() != nil, time.Now().After(giveUp):
			return err
		case attempt == 1:
			s.Say("%s: %v; trying again for %s", pod.Name, err, patience)
		}
		if err := waitUntil(ctx, time.Now().Add(pause)); err != nil {
			return err
		}
	}
}

// own reports whether this submission has created the pod.
func (s Submission) own(ctx context.Context, pod *corev1.Pod) bool {
	existing, err := s.Cluster.Kubernetes.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	return err == nil && existing.Labels[training.RunLabel] == s.Setup.Run
}

// refused reports whether the API server will never accept the pod.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsAlreadyExists(err)
}

// waitUntil waits for a time. It returns the cause if ctx ends first.
func waitUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	case <-timer.C:
		return nil
	}
}
