package clusterrun

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod is the pod in which a job has ended: the last one, if the job has moved. The API server knows times in whole seconds, so that a
// difference is up to a second off, and a mean of many is not.
type Pod struct {
	Node string `json:"node"`
	// Starting is the time from the pod's creation to the start of its container, and Ending the time from the end of the container to that
	// of the job. In neither does the job compute.
	Starting float64 `json:"startingSeconds"`
	Ending   float64 `json:"endingSeconds"`
}

// lastPod returns the pod in which a job has ended.
func (p *player) lastPod(ctx context.Context, j batchv1.Job) (Pod, error) {
	options := metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + j.Name}
	pods, err := p.connection.Kubernetes.CoreV1().Pods(j.Namespace).List(ctx, options)
	if err != nil {
		return Pod{}, fmt.Errorf("listing the pods of %s: %w", j.Name, err)
	}
	for _, pod := range pods.Items {
		if found, ok := endedIn(j, pod); ok {
			return found, nil
		}
	}
	return Pod{}, fmt.Errorf("job %s has ended, and none of its %d pods has succeeded", j.Name, len(pods.Items))
}

// endedIn returns what a pod shows about the job that has ended in it, if it has.
func endedIn(j batchv1.Job, pod corev1.Pod) (Pod, bool) {
	if pod.Status.Phase != corev1.PodSucceeded || j.Status.CompletionTime == nil {
		return Pod{}, false
	}
	for _, c := range pod.Status.ContainerStatuses {
		if end := c.State.Terminated; end != nil {
			return Pod{
				Node:     pod.Spec.NodeName,
				Starting: end.StartedAt.Sub(pod.CreationTimestamp.Time).Seconds(),
				Ending:   j.Status.CompletionTime.Sub(end.FinishedAt.Time).Seconds(),
			}, true
		}
	}
	return Pod{}, false
}

// idle returns the means of Starting and Ending of a phase's pods: zero for a run that has not recorded them.
func (p Played) idle() (starting, ending float64) {
	for _, pod := range p.Pods {
		starting += pod.Starting / float64(len(p.Pods))
		ending += pod.Ending / float64(len(p.Pods))
	}
	return starting, ending
}
