//go:build e2e && linux

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// gangScript is a distributed job of which only rank 0 prints.
const gangScript = `i=0; while :; do i=$((i+1)); [ "$JOB_COMPLETION_INDEX" = 0 ] && echo "step $i loss 0.$((99999-i))"; sleep 0.2; done`

// gang has an Indexed Job of two pods next to a job that does not grow. Its pods are one job.
func (s *stage) gang(t *testing.T) {
	job := s.indexedJob("ddp", "node-1", 2)
	jobs := s.Kubernetes.BatchV1().Jobs(job.Namespace)
	_, err := jobs.Create(t.Context(), job, metav1.CreateOptions{})
	require.NoError(t, err)
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		_ = jobs.Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
		s.remove(t, "third")
	})
	s.create(t, s.scriptPod("third", "node-1", flatScript, "100m"))
	var lead, silent string
	eventually(t, "both pods of the Job run", time.Minute, func() bool {
		lead, silent = s.indexedPod(t, job.Name, "0"), s.indexedPod(t, job.Name, "1")
		return lead != "" && silent != ""
	})
	eventually(t, "both have the CPU of the job that does not grow", 2*time.Minute, func() bool {
		return s.milli(t, lead) > 110 && s.milli(t, silent) == s.milli(t, lead) && s.milli(t, "third") < 80
	})
	eventually(t, "an event names the pod with the curve", time.Minute, func() bool {
		return s.hasEvent(t, silent, "PodOfOneJob", "This pod and "+lead)
	})
	s.oneCurve(t, lead, silent)
	for _, name := range []string{lead, silent} {
		require.Empty(t, s.warnings(t, name))
		for _, reason := range []string{"JobRestarted", "LogUnmatched", "MetricMissing", "CPUNotTuned"} {
			require.False(t, s.hasEvent(t, name, reason, ""), "%s of %s", reason, name)
		}
	}
}

// oneCurve checks for some rounds that the pods of a job have the category of the pod that reports, and equal shares.
func (s *stage) oneCurve(t *testing.T, lead, silent string) {
	last := int64(0)
	for range 4 {
		time.Sleep(policy.DefaultInterval)
		eventually(t, "the step of the curve goes on", 3*policy.DefaultInterval, func() bool { return s.step(t, lead) > last })
		first, second := s.sample(t, lead), s.sample(t, silent)
		require.NotNil(t, first)
		require.NotNil(t, second)
		last = first.Sample.Step
		require.Equal(t, growth.Progressing, first.Sample.Category)
		require.Equal(t, growth.Progressing, second.Sample.Category, "the silent pod is not an unknown job")
		require.InDelta(t, float64(first.Sample.Share), float64(second.Sample.Share), 0.02)
		eventually(t, "equal requests", 10*time.Second, func() bool { return s.milli(t, lead) == s.milli(t, silent) })
		require.Zero(t, s.restartsOf(t, lead)+s.restartsOf(t, silent))
	}
}

func (s *stage) restartsOf(t *testing.T, name string) (sum int32) {
	for _, c := range s.pod(t, name).Status.ContainerStatuses {
		sum += c.RestartCount
	}
	return sum
}

// indexedJob returns an Indexed Job whose pods run gangScript on a node.
func (s *stage) indexedJob(name, node string, pods int32) *batchv1.Job {
	pod := s.scriptPod(name, node, gangScript, "100m")
	pod.Annotations[gpushare.ProgressAnnotation] = `log:step (?P<step>\d+) loss ([0-9.]+)`
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: pod.Namespace}, Spec: indexed(pod, pods)}
}

// indexed returns an Indexed Job with a number of pods like this one, which counts each failure.
func indexed(pod *corev1.Pod, pods int32) batchv1.JobSpec {
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	return batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion),
		Completions:    &pods,
		Parallelism:    &pods,
		BackoffLimit:   new(int32),
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations},
			Spec:       pod.Spec,
		},
	}
}

// indexedPod returns the name of a Job's running pod with an index, or "".
func (s *stage) indexedPod(t *testing.T, job, index string) string {
	t.Helper()
	list, err := s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: batchv1.JobNameLabel + "=" + job + "," + batchv1.JobCompletionIndexAnnotation + "=" + index,
	})
	require.NoError(t, err)
	for _, pod := range list.Items {
		if pod.Status.Phase == corev1.PodRunning {
			return pod.Name
		}
	}
	return ""
}
