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

	"github.com/trellis-gpu/trellis/growth"
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
	if err := r.replace(ctx, refusal.Ref, copied); err != nil {
		return err // the record stays, and with it the pod
	}
	return r.Bus.Delete(ctx, entry.Key, bus.Unchanged(entry.Key, entry.Revision))
}

// replace deletes the rejected pod and creates its copy. It also succeeds if another client has done so, and if the namespace
// is being deleted.
func (r *Recreator) replace(ctx context.Context, ref growth.PodRef, copied *corev1.Pod) error {
	pods := r.Client.CoreV1().Pods(ref.Namespace)
	gracePeriod, uid := int64(0), types.UID(ref.UID)
	err := pods.Delete(ctx, ref.Name, metav1.DeleteOptions{GracePeriodSeconds: &gracePeriod, Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting the rejected pod: %w", err)
	}
	created, err := pods.Create(ctx, copied, metav1.CreateOptions{})
	switch {
	case err == nil:
		r.Log.Info("a pod that kubelet rejected is recreated", "pod", ref.String(), "uid", created.UID)
		r.recordEvent(ctx, created)
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

// recordEvent writes an event that explains why the pod is new.
func (r *Recreator) recordEvent(ctx context.Context, pod *corev1.Pod) {
	now := metav1.Now()
	_, err := r.Client.CoreV1().Events(pod.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: pod.Name + "."},
		InvolvedObject: corev1.ObjectReference{
			APIVersion:      "v1",
			Kind:            "Pod",
			Namespace:       pod.Namespace,
			Name:            pod.Name,
			UID:             pod.UID,
			ResourceVersion: pod.ResourceVersion,
		},
		Type:                corev1.EventTypeNormal,
		Reason:              "Resubmitted",
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Count:               1,
		Source:              corev1.EventSource{Component: "trellis-extender"},
		ReportingController: "trellis-extender",
		Message:             "Kubelet had just restarted, or its device plugin had, and rejected this pod before it ran: Trellis has recreated it",
	}, metav1.CreateOptions{})
	if err != nil {
		r.Log.Warn("an event could not be written", "pod", pod.Namespace+"/"+pod.Name, "err", err)
	}
}
