package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/extender/internal/upstreamtest"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// TestExtender_AbortsMovesOfJobsThatCannotContinue shows in the event why the container on the target has ended. The reasons are
// those of package gpushare's shim, which growth/shim/tests/test_saves.py causes on real files.
func TestExtender_AbortsMovesOfJobsThatCannotContinue(t *testing.T) {
	plane, c, ended := start(t, 2, gpushare.Resource, nil)
	n := newNode(t, plane, c.Etcd)
	for name, why := range map[string]string{
		"hash":       "gpushare.CheckpointError: /checkpoints/job.pt is not the checkpoint that was saved",
		"unreadable": "gpushare.CheckpointError: /checkpoints/job.pt cannot be read: [Errno 13] Permission denied",
	} {
		create(t, plane, name, "1Gi", 1)
		old := n.running(t, name, "")
		target := map[string]string{"node-0": "node-1", "node-1": "node-0"}[old.Spec.NodeName]
		n.mu.Lock()
		n.away[played{"kubelet", name, target}] = time.Now().Add(time.Hour) // the test plays it
		n.mu.Unlock()
		n.ask(t, old, target)
		moved := successorOn(t, plane, name, target)
		fail(t, plane, moved, why)
		requireEvent(t, plane, moved.Name, "The move of the job to "+target+
			" has ended early: the new pod ended without a report: container train has failed with exit code 1: Error "+why)
	}
	requireDrain(t, c, ended)
}

// successorOn waits for the pod of a job that is bound to a node.
func successorOn(t *testing.T, plane *upstreamtest.Plane, name, node string) (found corev1.Pod) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, p := range bound(t, plane) {
			if job(p.Name) == name && p.Spec.NodeName == node {
				found = p
				return true
			}
		}
		return false
	}, time.Minute, 50*time.Millisecond, "the job %s is placed on %s", name, node)
	return found
}

// fail ends a pod's container with an error and its last words.
func fail(t *testing.T, plane *upstreamtest.Plane, p corev1.Pod, why string) {
	t.Helper()
	status, err := json.Marshal(map[string]any{"status": corev1.PodStatus{
		Phase: corev1.PodFailed,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name:  "train",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: why}},
		}},
	}})
	require.NoError(t, err)
	_, err = plane.Client.CoreV1().Pods(p.Namespace).Patch(t.Context(), p.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	require.NoError(t, err)
}
