package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/extender/internal/upstreamtest"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// TestExtender_PlacesGangs places jobs of several pods on a stock API server with a stock kube-scheduler and Job controller: all
// or none, and two that could have a half each one after the other.
func TestExtender_PlacesGangs(t *testing.T) {
	plane, c, ended := start(t, 2, gpushare.Resource, nil) // 4 GPUs
	plane.Controllers(t, "job-controller")
	size, mode := int32(4), batchv1.IndexedCompletion
	template := trainer("", 1)
	template.Spec.Containers[0].Command = []string{"torchrun", "--nnodes=4", "train.py"}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := plane.Client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "ddp"},
		Spec: batchv1.JobSpec{
			Parallelism: &size, Completions: &size, CompletionMode: &mode, BackoffLimit: new(int32(0)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{gpushare.MemoryAnnotation: "1Gi"}},
				Spec:       template.Spec,
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return boundOf(t, plane, "ddp-") == 4 }, time.Minute, 50*time.Millisecond)
	requireEvent(t, plane, bound(t, plane)[0].Name, "All 4 pods of Job ddp have their room")
	require.NoError(t, plane.Client.BatchV1().Jobs("default").Delete(t.Context(), "ddp", metav1.DeleteOptions{}))
	remove(t, plane, "ddp-")

	for i := range 3 { // of 6 GPUs for both, 4 exist
		for _, name := range []string{"first", "second"} {
			pod := trainer(fmt.Sprintf("%s-%d", name, i), 50)
			pod.Annotations = map[string]string{gpushare.MemoryAnnotation: "50Gi", gpushare.GangAnnotation: name + "/3"}
			_, err := plane.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
	require.Eventually(t, func() bool { return boundOf(t, plane, "first-") == 3 }, time.Minute, 50*time.Millisecond)
	requireEvent(t, plane, "second-0", "1 of the 3 pods of gang second fit. They keep their room for up to 2m0s")
	require.Zero(t, boundOf(t, plane, "second-"), "no part of the second gang is bound")
	remove(t, plane, "first-")
	require.Eventually(t, func() bool { return boundOf(t, plane, "second-") == 3 }, time.Minute, 50*time.Millisecond)
	_, metrics := get("http://" + c.HealthListen + "/metrics")
	require.Contains(t, metrics, `trellis_extender_gangs_total{outcome="placed"} 3`)
	require.Contains(t, metrics, `trellis_extender_gangs_total{outcome="released"} 0`)
	requireDrain(t, c, ended)
}

// boundOf counts the bound pods whose names begin with a prefix.
func boundOf(t *testing.T, plane *upstreamtest.Plane, prefix string) int {
	t.Helper()
	n := 0
	for _, pod := range bound(t, plane) {
		if strings.HasPrefix(pod.Name, prefix) {
			n++
		}
	}
	return n
}

// remove deletes pods as kubelet does after they have ended. The extender releases their reservations.
func remove(t *testing.T, plane *upstreamtest.Plane, prefix string) {
	t.Helper()
	for _, pod := range bound(t, plane) {
		if strings.HasPrefix(pod.Name, prefix) {
			pods, now := plane.Client.CoreV1().Pods("default"), int64(0)
			// The Job controller, whose Job was deleted, may remove its finalizer at the same time.
			_, err := pods.Patch(t.Context(), pod.Name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
			require.NoError(t, err)
			require.NoError(t, pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
		}
	}
}
