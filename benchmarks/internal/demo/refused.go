package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/table"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
)

// refused has the jobs whose pods kubelet rejected before they ran. The run recreates these bare pods, as a Job's
// controller would. A job's completion counts from its first submission.
type refused map[string]refusal

type refusal struct {
	first time.Time // submission
	times int
	owed  bool // a new pod
}

func (r refused) owed(job string) bool { return r[job].owed }

func (r refused) paid(job string) {
	now := r[job]
	now.owed = false
	r[job] = now
}

func (r *refused) add(pod *corev1.Pod) {
	if *r == nil {
		*r = refused{}
	}
	now, known := (*r)[pod.Name]
	if !known {
		now.first = pod.CreationTimestamp.Time
	}
	now.times, now.owed = now.times+1, true
	(*r)[pod.Name] = now
}

// correct sets the first submission and the refusals in a reading.
func (r refused) correct(reading *timeline.Reading) {
	for i := range reading.Jobs {
		job := &reading.Jobs[i]
		if now, ok := r[job.Name]; ok {
			job.Submitted, job.Refusals = now.first, now.times
			if now.owed {
				job.State = timeline.Pending
			}
		}
	}
}

// clearRefused deletes the rejected pods and removes them from the list.
func (r *Run) clearRefused(ctx context.Context, pods *corev1.PodList) error {
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !training.Refused(pod) {
			continue
		}
		now := int64(0)
		err := r.Cluster.Kubernetes.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %s, which kubelet refused: %w", pod.Name, err)
		}
		r.refused.add(pod)
		r.Folder.Log.Warn("refused", "policy", r.Policy, "job", pod.Name, "node", pod.Spec.NodeName, "text", pod.Status.Message)
		r.Screen.Say(table.Event{At: time.Now(), Job: pod.Name, From: "bench", Ink: table.Yellow, Text: "refused by kubelet before it ran: recreated"})
	}
	pods.Items = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return training.Refused(&pod) })
	return nil
}
