//go:build e2e && linux

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	fillers = 4
	// fillTime is how long fillers come and go. All of them are replaced once they have filled the node, or after fillWait.
	fillTime = 75 * time.Second
	fillWait = 10 * time.Second
	// takesTurns is a job that grows in every second period of 15 seconds, so that CPU moves all the time. Its parameter is
	// the remainder of its periods.
	takesTurns = `i=0; while :; do [ $(( $(date +%%s) / 15 %% 2 )) = %d ] && i=$((i+9)); echo "loss 0.$((99999-i))"; sleep 0.2; done`
)

// secondScheduler has two jobs between which CPU moves, on a node that the default scheduler fills with ordinary pods again
// and again. The jobs are never disturbed, and stay within their pool. Kubelet may reject a filler that it gets between its
// changes of two jobs; the filler's controller replaces it.
func (s *stage) secondScheduler(t *testing.T) {
	names := []string{"odd", "even"}
	t.Cleanup(func() { s.remove(t, names...) })
	for i, name := range names {
		s.create(t, s.scriptPod(name, "node-2", fmt.Sprintf(takesTurns, i), "150m"))
	}
	eventually(t, "both jobs run", time.Minute, func() bool {
		return s.pod(t, "odd").Status.Phase == corev1.PodRunning && s.pod(t, "even").Status.Phase == corev1.PodRunning
	})
	s.createFillers(t, s.freeCPU(t, "node-2")/fillers)
	resizes, before, full := 0, s.milli(t, "odd"), 0
	scaled := time.Now()
	for end := scaled.Add(fillTime); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if fill := s.fillersRunning(t) == fillers; fill || time.Since(scaled) > fillWait {
			if fill {
				full++
			}
			s.scaleFillers(t, 0)
			s.scaleFillers(t, fillers)
			scaled = time.Now()
		}
		require.LessOrEqual(t, s.milli(t, "odd")+s.milli(t, "even"), int64(300), "the jobs stay within their pool")
		for _, name := range names {
			require.Equal(t, corev1.PodRunning, s.pod(t, name).Status.Phase, name)
		}
		if now := s.milli(t, "odd"); now != before {
			resizes, before = resizes+1, now
		}
	}
	t.Logf("%d resizes of a job were seen, and the fillers filled the node %d times", resizes, full)
	require.GreaterOrEqual(t, resizes, 4, "CPU moves while the fillers come and go")
	require.Positive(t, full)
	rejected := s.rejected(t)
	t.Logf("%d fillers were rejected: %v", len(rejected), rejected)
	require.LessOrEqual(t, len(rejected), full, "no more than one at a time")
	eventually(t, "all fillers fit next to the jobs", 30*time.Second, func() bool { return s.fillersRunning(t) == fillers })
}

// freeCPU returns the allocatable CPU of a node that no pod requests, in thousandths of a core.
func (s *stage) freeCPU(t *testing.T, node string) int64 {
	t.Helper()
	object, err := s.Kubernetes.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	require.NoError(t, err)
	free := object.Status.Allocatable.Cpu().MilliValue()
	list, err := s.Kubernetes.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	require.NoError(t, err)
	for _, pod := range list.Items {
		for _, c := range pod.Spec.Containers {
			free -= c.Resources.Requests.Cpu().MilliValue()
		}
	}
	return free
}

// createFillers creates a Deployment of pods that the default scheduler places.
func (s *stage) createFillers(t *testing.T, milli int64) {
	pod := s.scriptPod("filler", "node-2", "sleep 1000000", fmt.Sprintf("%dm", milli))
	grace, labels := int64(0), map[string]string{"app": "filler"}
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	pod.Spec.SchedulerName = corev1.DefaultSchedulerName
	pod.Spec.TerminationGracePeriodSeconds = &grace
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("1Mi")
	deployments := s.Kubernetes.AppsV1().Deployments(pod.Namespace)
	_, err := deployments.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "filler", Namespace: pod.Namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(fillers)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod.Spec},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		_ = deployments.Delete(ctx, "filler", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
	})
}

func (s *stage) scaleFillers(t *testing.T, replicas int) {
	t.Helper()
	_, err := s.Kubernetes.AppsV1().Deployments(s.run.Setup.Namespace).Patch(t.Context(), "filler", types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, fmt.Sprintf("%d fillers", replicas), 30*time.Second, func() bool {
		return replicas > 0 || len(s.fillers(t)) == 0
	})
}

// fillers returns the fillers that have not failed.
func (s *stage) fillers(t *testing.T) (found []corev1.Pod) {
	t.Helper()
	list, err := s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=filler"})
	require.NoError(t, err)
	for _, pod := range list.Items {
		if pod.Status.Phase != corev1.PodFailed {
			found = append(found, pod)
		}
	}
	return found
}

func (s *stage) fillersRunning(t *testing.T) (running int) {
	for _, pod := range s.fillers(t) {
		if pod.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	return running
}

// rejected returns the reasons of failed pods in the run's namespace. Failed pods stay until somebody deletes them.
func (s *stage) rejected(t *testing.T) (reasons []string) {
	t.Helper()
	list, err := s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).List(t.Context(), metav1.ListOptions{
		FieldSelector: "status.phase=" + string(corev1.PodFailed),
	})
	require.NoError(t, err)
	for _, pod := range list.Items {
		reasons = append(reasons, pod.Name+": "+pod.Status.Reason+": "+pod.Status.Message)
	}
	return reasons
}
