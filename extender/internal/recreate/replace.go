package recreate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// recreate takes the remaining steps of one pod.
func (r *Recreator) recreate(ctx context.Context, entry bus.Entry) error {
	refusal, err := bus.Decode[bus.Refusal](entry.Value)
	if err != nil {
		return err
	}
	copied := &corev1.Pod{}
	if err := json.Unmarshal(refusal.Again, copied); err != nil {
		return err
	}
	if err := r.replace(ctx, refusal, copied); err != nil {
		return err // the record stays, and with it the pod
	}
	return r.Bus.Delete(ctx, entry.Key, bus.Unchanged(entry.Key, entry.Revision))
}

// replace deletes the rejected pod and creates its copy. It also succeeds if another client has done so, and if the namespace
// is being deleted.
func (r *Recreator) replace(ctx context.Context, refusal bus.Refusal, copied *corev1.Pod) error {
	ref := refusal.Ref
	pods := r.Client.CoreV1().Pods(ref.Namespace)
	gracePeriod, uid := int64(0), types.UID(ref.UID)
	err := pods.Delete(ctx, ref.Name, metav1.DeleteOptions{GracePeriodSeconds: &gracePeriod, Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting the rejected pod: %w", err)
	}
	accepted, withheld := Admissible(copied)
	created, err := pods.Create(ctx, accepted, metav1.CreateOptions{})
	switch {
	case err == nil:
		r.Log.Info("a pod that kubelet rejected is recreated", "pod", ref.String(), "uid", created.UID,
			"reason", refusal.Reason)
		r.recordEvent(ctx, created, refusal, withheld)
		return nil
	case apierrors.IsAlreadyExists(err):
		current, err := pods.Get(ctx, ref.Name, metav1.GetOptions{})
		if err == nil && current.UID == uid {
			err = errors.New("the rejected pod is still there") // a finalizer holds it
		}
		return err
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	}
	return fmt.Errorf("creating it again: %w", err)
}
