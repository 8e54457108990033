//go:build e2e && linux

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// Scripts of jobs whose log has a loss that falls, and one that stays.
const (
	fallingScript = `i=0; while :; do i=$((i+1)); echo "loss 0.$((99999-i))"; sleep 0.2; done`
	flatScript    = `while :; do echo "loss 0.5"; sleep 0.2; done`
)

// TestRequests checks CPU requests with a real API server, quota controller and kubelet: a quota that is used up, an init
// container that outweighs its job, another controller that resizes a job, an Indexed Job, and another scheduler.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.useFlowCon(t)
	t.Run("a full quota", s.fullQuota)
	t.Run("a larger init container", s.largerInit)
	t.Run("another writer", s.otherWriter)
	t.Run("a job of two pods", s.gang)
	t.Run("a second scheduler", s.secondScheduler)
}

// useFlowCon changes the share policy to one that moves CPU between jobs of unknown size.
func (s *stage) useFlowCon(t *testing.T) {
	require.NoError(t, s.local.Install(t.Context(), string(policy.FlowCon), policy.DefaultInterval))
	probe := s.scriptPod("probe", "", flatScript, "50m")
	want := cluster.Expectation{Nodes: s.local.Nodes, Policy: string(policy.FlowCon), Probe: probe}
	require.NoError(t, s.AwaitReady(t.Context(), want, func(text string) { t.Log(text) }))
}

// scriptPod returns a job that runs a shell script on a node, and reports through its log.
func (s *stage) scriptPod(name, node, script, cpu string) *corev1.Pod {
	job := s.jobs[0]
	job.Name, job.GPUMemory, job.Progress = name, "1Gi", "log:loss ([0-9.]+)"
	pod := s.run.Setup.Pod(job)
	train := &pod.Spec.Containers[0]
	train.Command = []string{"/bin/sh", "-c", script}
	train.Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	if node != "" {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	}
	return pod
}

// fullQuota has two jobs in a namespace whose CPU quota is used up. CPU moves between them without a refusal.
func (s *stage) fullQuota(t *testing.T) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team-cpu", Namespace: s.run.Setup.Namespace}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("300m")}
	quotas := s.Kubernetes.CoreV1().ResourceQuotas(s.run.Setup.Namespace)
	_, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { s.remove(t, "fast", "flat") })
	eventually(t, "the quota has a status", time.Minute, func() bool {
		found, err := quotas.Get(t.Context(), "team-cpu", metav1.GetOptions{})
		return err == nil && len(found.Status.Hard) > 0
	})
	s.create(t, s.scriptPod("fast", "node-1", fallingScript, "150m"))
	s.create(t, s.scriptPod("flat", "node-1", flatScript, "150m"))
	eventually(t, "the growing job has the CPU of the other", 2*time.Minute, func() bool {
		fast, flat := s.milli(t, "fast"), s.milli(t, "flat")
		require.LessOrEqual(t, fast+flat, int64(300))
		return fast > 200 && flat < 100
	})
	require.Empty(t, s.warnings(t, "fast"))
	require.Empty(t, s.warnings(t, "flat"))
	require.NoError(t, quotas.Delete(t.Context(), "team-cpu", metav1.DeleteOptions{}))
}

// largerInit has a job whose init container requests more. It is left alone, with one event.
func (s *stage) largerInit(t *testing.T) {
	t.Cleanup(func() { s.remove(t, "heavy", "peer") })
	heavy := s.scriptPod("heavy", "node-2", fallingScript, "50m")
	unpack := *heavy.Spec.Containers[0].DeepCopy()
	unpack.Name, unpack.Command = "unpack", []string{"/bin/sh", "-c", "sleep 1"}
	unpack.Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("300m")}}
	heavy.Spec.InitContainers = []corev1.Container{unpack}
	s.create(t, heavy)
	s.create(t, s.scriptPod("peer", "node-2", flatScript, "100m"))
	eventually(t, "an event names the init container", time.Minute, func() bool {
		return s.hasEvent(t, "heavy", "CPUNotTuned", "init container unpack needs a CPU request of 300m")
	})
	time.Sleep(4 * policy.DefaultInterval) // rounds in which nothing may change
	require.Equal(t, int64(50), s.milli(t, "heavy"))
	require.Equal(t, int64(100), s.milli(t, "peer"), "the init container's request is not in the pool")
	require.Empty(t, s.warnings(t, "heavy"))
	require.False(t, s.hasEvent(t, "heavy", "CPUShareChanged", ""))
}

// otherWriter has a job whose request another controller changes all the time. Trellis gives way.
func (s *stage) otherWriter(t *testing.T) {
	t.Cleanup(func() { s.remove(t, "governed", "other") })
	s.create(t, s.scriptPod("governed", "node-2", fallingScript, "100m"))
	s.create(t, s.scriptPod("other", "node-2", flatScript, "100m"))
	eventually(t, "both run", time.Minute, func() bool {
		return s.pod(t, "governed").Status.Phase == corev1.PodRunning && s.pod(t, "other").Status.Phase == corev1.PodRunning
	})
	for _, cpu := range []string{"180m", "170m", "180m"} {
		patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"train","resources":{"requests":{"cpu":%q}}}]}}`, cpu)
		_, err := s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).Patch(t.Context(), "governed", types.StrategicMergePatchType,
			[]byte(patch), metav1.PatchOptions{FieldManager: "vpa-updater"}, "resize")
		require.NoError(t, err)
		time.Sleep(2 * policy.DefaultInterval)
		want := resource.MustParse(cpu)
		require.Equal(t, want.MilliValue(), s.milli(t, "governed"), "Trellis does not undo the change")
	}
	require.True(t, s.hasEvent(t, "governed", "CPUNotTuned", "vpa-updater has set its CPU request"))
	eventually(t, "the other job has its own request", 30*time.Second, func() bool { return s.milli(t, "other") == 100 })
}

// milli returns the CPU request in a pod's spec.
func (s *stage) milli(t *testing.T, name string) int64 {
	t.Helper()
	return s.pod(t, name).Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
}

// warnings lists the warnings of the coordinator about a pod.
func (s *stage) warnings(t *testing.T, name string) (found []string) {
	t.Helper()
	list, err := s.Kubernetes.CoreV1().Events(s.run.Setup.Namespace).List(t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + name + ",type=" + corev1.EventTypeWarning,
	})
	require.NoError(t, err)
	for _, e := range list.Items {
		if strings.HasPrefix(e.Reason, "Resize") {
			found = append(found, e.Reason+": "+e.Message)
		}
	}
	return found
}

// remove deletes pods at the end of a test, when the test's context has ended.
func (s *stage) remove(t *testing.T, names ...string) {
	ctx, now := context.WithoutCancel(t.Context()), int64(0)
	for _, name := range names {
		_ = s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	}
}
