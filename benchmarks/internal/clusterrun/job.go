package clusterrun

import (
	"path/filepath"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
)

// object returns the Job of a submission. Its checkpoints are in a folder of this machine, which is the same on all nodes, so that it may
// move.
func object(setup training.Setup, s start, checkpoints string) *batchv1.Job {
	if s.node != "" {
		setup.Nodes = map[string]string{s.Name: s.node}
	}
	pod := setup.Pod(s.Job)
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.EmptyDir != nil {
			v.VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: filepath.Join(checkpoints, setup.Run, s.Name),
				Type: new(corev1.HostPathDirectoryOrCreate),
			}}
		}
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: setup.Namespace, Name: s.Name, Labels: pod.Labels},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32), // a move is no failure
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations},
				Spec:       pod.Spec,
			},
		},
	}
}

// completion returns the time from a Job's creation to its end. failed is why it has failed.
func completion(j batchv1.Job) (took time.Duration, ended bool, failed string) {
	for _, c := range j.Status.Conditions {
		if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
			return 0, true, c.Reason + ": " + c.Message
		}
	}
	if j.Status.CompletionTime == nil {
		return 0, false, ""
	}
	return j.Status.CompletionTime.Sub(j.CreationTimestamp.Time), true, ""
}
