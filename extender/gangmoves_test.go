package main

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/extender/internal/upstreamtest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// TestExtender_MovesGangs moves a job of two pods, each of which has all GPUs of a node, on a stock API server with a stock
// kube-scheduler and Job controller. One pod goes to the third node, the other one starts again where it is. The Job permits no
// failure. Then the job cannot save, and neither pod moves.
func TestExtender_MovesGangs(t *testing.T) {
	plane, c, ended := start(t, 3, gpushare.Resource, nil)
	plane.Controllers(t, "job-controller")
	n := newNode(t, plane, c.Etcd)
	createGang(t, plane, "ddp", gpuMemory, gpusPerNode)
	first, second := n.rank(t, "ddp", "0", ""), n.rank(t, "ddp", "1", "")
	free := ""
	for _, name := range []string{"node-0", "node-1", "node-2"} {
		if name != first.Spec.NodeName && name != second.Spec.NodeName {
			free = name
		}
	}
	n.ask(t, first, free)
	requireEvent(t, plane, second.Name, "The job moves with all of its 2 pods: pod "+first.Name+" moves from node "+first.Spec.NodeName+" to "+free)
	movedFirst, movedSecond := n.rank(t, "ddp", "0", first.UID), n.rank(t, "ddp", "1", second.UID)
	require.Equal(t, free, movedFirst.Spec.NodeName)
	require.Equal(t, second.Spec.NodeName, movedSecond.Spec.NodeName)
	requireEvent(t, plane, movedFirst.Name, "The job has moved from node "+first.Spec.NodeName+" to "+free+" in ")
	requireEvent(t, plane, movedSecond.Name, "this pod of it has started again on node "+second.Spec.NodeName)
	require.Equal(t, 2, n.together("ddp"), "no pod runs next to the one that it continues")
	n.requireNoneHeld(t)

	n.mu.Lock()
	n.fails["ddp"] = "the volume is full"
	n.mu.Unlock()
	n.ask(t, movedSecond, gpushare.MoveAnywhere)
	for _, pod := range []*corev1.Pod{movedFirst, movedSecond} {
		requireEvent(t, plane, pod.Name, "has ended early, and all of its 2 pods run on: the job did not save: the volume is full")
	}
	require.Equal(t, movedFirst.UID, n.rank(t, "ddp", "0", "").UID)
	require.Equal(t, movedSecond.UID, n.rank(t, "ddp", "1", "").UID)
	n.requireNoneHeld(t)
	job, err := plane.Client.BatchV1().Jobs("default").Get(t.Context(), "ddp", metav1.GetOptions{})
	require.NoError(t, err)
	require.Zero(t, job.Status.Failed)
	requireDrain(t, c, ended)
}

// createGang creates an Indexed Job of a distributed program with two pods, which asks for memory on a number of GPUs for each pod. The
// Job permits no failure.
func createGang(t *testing.T, plane *upstreamtest.Plane, name string, memory growth.MiB, gpus int) {
	size, mode := int32(2), batchv1.IndexedCompletion
	gib := int(memory / growth.GiB)
	template := trainer("", int64(gib*gpus))
	template.Spec.Containers[0].Command = []string{"torchrun", "--nnodes=2", "train.py"}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := plane.Client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			Parallelism: &size, Completions: &size, CompletionMode: &mode, BackoffLimit: new(int32(0)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
					gpushare.MemoryAnnotation: fmt.Sprintf("%dGi", gib), gpushare.CountAnnotation: strconv.Itoa(gpus),
				}},
				Spec: template.Spec,
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// rank waits for the running pod of an index of a job that is not the one with a UID.
func (n *node) rank(t *testing.T, name, index string, not types.UID) (found *corev1.Pod) {
	t.Helper()
	require.Eventually(t, func() bool {
		list, err := n.plane.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for i := range list.Items {
			p := &list.Items[i]
			running := p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
			if job(p.Name) == name && p.Annotations[batchv1.JobCompletionIndexAnnotation] == index && p.UID != not && running {
				found = p
				return true
			}
		}
		return false
	}, time.Minute, 50*time.Millisecond, "the pod of index %s of the job %s runs", index, name)
	return found
}

// requireNoneHeld waits until no memory is reserved for a pod that is to come.
func (n *node) requireNoneHeld(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		entries, _, err := n.bus.List(t.Context(), bus.Nodes)
		require.NoError(t, err)
		for _, entry := range entries {
			key, err := bus.ParseKey(entry.Key)
			if err != nil || key.Kind != bus.KindReservation {
				continue
			}
			if r, err := bus.Decode[bus.Reservation](entry.Value); err == nil && r.Held {
				return false
			}
		}
		return true
	}, 10*time.Second, 50*time.Millisecond, "no reservation is left")
}
