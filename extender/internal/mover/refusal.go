package mover

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// refusal returns why a pod cannot be moved alone, in a sentence for the user.
func (m *Mover) refusal(ctx context.Context, pod *corev1.Pod, to growth.NodeName) (string, error) {
	if why := unable(pod); why != "" {
		return why, nil
	}
	if string(to) == pod.Spec.NodeName {
		return fmt.Sprintf("The job is on node %s already", to), nil
	}
	if to != "" {
		if why := m.Unfit(pod, to); why != "" {
			return fmt.Sprintf("The job is not moved to node %s: %s", to, why), nil
		}
	}
	return m.others(ctx, []*corev1.Pod{pod})
}

// unable returns why the job of a pod is not moved anywhere, by the annotations of the pod; "" if it may be.
func unable(pod *corev1.Pod) string {
	spec, err := request.Spec(pod)
	switch {
	case err != nil:
		return fmt.Sprintf("The job is not moved, because its annotations are invalid: %s", err)
	case spec.Checkpoint == gpushare.CheckpointNone:
		return "The job is not moved, because its annotation " + gpushare.CheckpointAnnotation + " is none: it cannot save"
	case gpushare.IsPaused(pod.Annotations):
		return "The job is not moved while it is paused. Remove the annotation " + gpushare.PausedAnnotation + " first"
	}
	return ""
}

// others returns a reason if the owner of one of the pods has further pods, which are not known to be of the same job.
func (m *Mover) others(ctx context.Context, pods []*corev1.Pod) (string, error) {
	moving, owners := map[string]bool{}, map[string]*metav1.OwnerReference{}
	for _, pod := range pods {
		moving[string(pod.UID)] = true
		if owner := metav1.GetControllerOf(pod); owner != nil {
			owners[string(owner.UID)] = owner
		}
	}
	if len(owners) == 0 {
		return "", nil
	}
	list, err := m.Client.CoreV1().Pods(pods[0].Namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return "", err
	}
	for i := range list.Items {
		other := &list.Items[i]
		controller := metav1.GetControllerOf(other)
		if controller == nil || owners[string(controller.UID)] == nil || moving[string(other.UID)] || ended(other) {
			continue
		}
		return fmt.Sprintf("The job is not moved, because its %s %s has other pods, such as %s, and nothing says that they are one job: "+
			"see the annotation %s", controller.Kind, controller.Name, other.Name, gpushare.GangAnnotation), nil
	}
	return "", nil
}

// target names the target of a move in an event.
func target(to growth.NodeName) string {
	if to == "" {
		return "another one"
	}
	return string(to)
}
