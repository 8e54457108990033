package main

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/extender/internal/config"
	"github.com/trellis-gpu/trellis/extender/internal/mover"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// TestExtender_MovesConvergedJobs has a converged job and a growing one on one node, and another node that is idle. While their
// samples are of another node than they are on, or contain impossible amounts, nothing moves. Then the converged job moves, without a
// request. The growing one cannot save.
func TestExtender_MovesConvergedJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("a job stays on its node for a minute before it moves")
	}
	t.Parallel() // it waits for most of its time
	plane, c, ended := start(t, 2, gpushare.Resource, nil, func(c *config.Config) {
		c.Moves, c.SharedPaths = mover.Automatic, []string{"/checkpoints"}
	})
	var lie atomic.Pointer[func(*bus.Sample)]
	elsewhere := func(s *bus.Sample) { s.Node = "node-9" }
	impossible := func(s *bus.Sample) { s.ETA.Remaining.Likely = 1e200 }
	lie.Store(&elsewhere)
	n := newNode(t, plane, c.Etcd, func(n *node) {
		n.sample = func(p *corev1.Pod) bus.Sample {
			s := bus.Sample{
				Node:       growth.NodeName(p.Spec.NodeName),
				Reported:   true,
				Category:   growth.Converged,
				ETA:        &bus.ETA{Remaining: remaining.Exact(500)},
				Usable:     growth.Core,
				Checkpoint: &bus.Checkpoint{Path: "/checkpoints/job.pt"},
			}
			if job(p.Name) == "growing" {
				s.Category = growth.Progressing
			}
			if change := lie.Load(); change != nil {
				(*change)(&s)
			}
			return s
		}
	})
	for node, load := range map[growth.NodeName]bus.NodeLoad{
		"node-0": {CPUPool: growth.Core, CPUCapacity: growth.Core},
		"node-1": {CPUCapacity: growth.Core}, // without jobs
	} {
		value, err := bus.Encode(load)
		require.NoError(t, err)
		_, err = n.bus.Put(t.Context(), bus.LoadKey(node), value, bus.Ephemeral)
		require.NoError(t, err)
	}
	cordon := func(cordoned string) {
		_, err := plane.Client.CoreV1().Nodes().Patch(t.Context(), "node-1", types.MergePatchType,
			[]byte(`{"spec": {"unschedulable": `+cordoned+`}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	cordon("true")
	for name, checkpoint := range map[string]string{"converged": "socket", "growing": "none"} {
		pod := trainer(name, 1)
		pod.Annotations = map[string]string{gpushare.MemoryAnnotation: "1Gi", gpushare.CheckpointAnnotation: checkpoint}
		pod.Spec.Volumes = []corev1.Volume{{
			Name: "shared", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/checkpoints"}},
		}}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "shared", MountPath: "/checkpoints"}}
		_, err := plane.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	old := n.running(t, "converged", "")
	require.Equal(t, old.Spec.NodeName, n.running(t, "growing", "").Spec.NodeName)
	cordon("false")

	still := func(why string) {
		require.Never(t, func() bool {
			entries, _, err := n.bus.List(t.Context(), bus.Moves)
			return err == nil && len(entries) > 0
		}, 45*time.Second, time.Second, why)
	}
	still("samples are of another node")
	lie.Store(&impossible)
	still("samples are impossible")
	lie.Store(nil)
	moved := n.running(t, "converged", old.UID)
	require.NotEqual(t, old.Spec.NodeName, moved.Spec.NodeName)
	requireEvent(t, plane, old.Name, "The reason is: the jobs of both nodes end ")
	requireEvent(t, plane, moved.Name, "The job has moved from node "+old.Spec.NodeName+" to "+moved.Spec.NodeName)
	require.Equal(t, 1, n.together("converged"))
	n.requireHistory(t, moved)
	requireDrain(t, c, ended)
}

// requireHistory checks that one move of the pod's job is on the bus and on the pod.
func (n *node) requireHistory(t *testing.T, moved *corev1.Pod) {
	t.Helper()
	entries, _, err := n.bus.List(t.Context(), bus.Moved)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	past, err := bus.Decode[bus.MovedJob](entries[0].Value)
	require.NoError(t, err)
	require.Equal(t, 1, past.Count)
	require.Equal(t, moved.Name, past.Names[len(past.Names)-1])
	require.True(t, past.Continues(growth.PodUID(moved.UID)))
	shown, err := n.plane.Client.CoreV1().Pods("default").Get(t.Context(), moved.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, past.String(), shown.Annotations[gpushare.MovesAnnotation])
}
