package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/upstreamtest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// TestExtender_ChangesTheNumberOfWorkers gives a Job and a Deployment a second worker, on a stock API server with stock
// controllers. A job that does not list workers in gpushare/tune is left alone.
func TestExtender_ChangesTheNumberOfWorkers(t *testing.T) {
	plane, c, ended := start(t, 2, gpushare.Resource, nil)
	plane.Controllers(t, "job-controller", "deployment-controller", "replicaset-controller")
	n := newNode(t, plane, c.Etcd)
	createElasticJob(t, plane, "batch", "cpu,workers")
	createElasticJob(t, plane, "still", "cpu")
	createElasticDeployment(t, plane, "serving")
	parallelism := func(name string) int32 {
		j, err := plane.Client.BatchV1().Jobs("default").Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		return *j.Spec.Parallelism
	}
	replicas := func() int32 {
		d, err := plane.Client.AppsV1().Deployments("default").Get(t.Context(), "serving", metav1.GetOptions{})
		require.NoError(t, err)
		return *d.Spec.Replicas
	}
	for _, name := range []string{"batch", "still", "serving"} {
		n.adviseWorkers(t, n.running(t, name, ""), 2)
	}
	require.Eventually(t, func() bool { return parallelism("batch") == 2 && replicas() == 2 }, time.Minute, 100*time.Millisecond)
	for _, name := range []string{"batch", "serving"} {
		pod := n.running(t, name, "")
		requireEventOf(t, plane, name, "1 → 2 workers: twice as fast. The job saves first")
		requireEventOf(t, plane, name, "Change 1 of at most 2")
		require.NotEmpty(t, pod.Annotations[gpushare.MemoryAnnotation])
	}
	require.Equal(t, int32(1), parallelism("still"))
	requireDrain(t, c, ended)
}

// adviseWorkers plays the tuner.
func (n *node) adviseWorkers(t *testing.T, pod *corev1.Pod, workers int) {
	value, err := bus.Encode(bus.Advice{Width: &bus.Width{
		Recommendation: elastic.Recommendation{Workers: workers, From: 1, Reason: "1 → 2 workers: twice as fast"}, Changes: 1,
	}})
	require.NoError(t, err)
	_, err = n.bus.Put(t.Context(), bus.AdviceKey(growth.PodUID(pod.UID)), value, bus.Persistent)
	require.NoError(t, err)
}

// requireEventOf requires an event of any pod of a job.
func requireEventOf(t *testing.T, plane *upstreamtest.Plane, name, message string) {
	t.Helper()
	require.Eventually(t, func() bool {
		list, err := plane.Client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, e := range list.Items {
			if job(e.InvolvedObject.Name) == name && strings.Contains(e.Message, message) {
				return true
			}
		}
		return false
	}, time.Minute, 100*time.Millisecond, "%s: %s", name, message)
}

func elasticTemplate(name, tune string) corev1.PodTemplateSpec {
	pod := trainer(name, 1)
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"job": name},
			Annotations: map[string]string{
				gpushare.MemoryAnnotation: "1Gi", gpushare.ElasticAnnotation: "1-2", gpushare.TuneAnnotation: tune,
			},
		},
		Spec: *pod.Spec.DeepCopy(),
	}
}

func createElasticJob(t *testing.T, plane *upstreamtest.Plane, name, tune string) {
	one, template := int32(1), elasticTemplate(name, tune)
	template.Labels = nil // the API server sets those of a Job
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := plane.Client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       batchv1.JobSpec{Parallelism: &one, Template: template},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func createElasticDeployment(t *testing.T, plane *upstreamtest.Plane, name string) {
	one, template := int32(1), elasticTemplate(name, "cpu,workers")
	template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	_, err := plane.Client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &one,
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: template,
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}
