package recreate_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/recreate"
	"github.com/trellis-gpu/trellis/extender/internal/upstreamtest"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// TestUpstream_NodeOfUserStays recreates two pods of a real API server, which records who set which field. The user has set
// the node of one, a scheduler has bound the other.
func TestUpstream_NodeOfUserStays(t *testing.T) {
	plane := upstreamtest.Start(t)
	plane.Node(t, "node-1", 8)
	pods := plane.Client.CoreV1().Pods("default")
	var failed []*corev1.Pod
	for name, node := range map[string]string{"pinned": "node-1", "scheduled": ""} {
		pod, err := pods.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "vision"}},
			Spec: corev1.PodSpec{NodeName: node, RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
				Name: "train", Image: "trainer", Resources: corev1.ResourceRequirements{
					Limits: corev1.ResourceList{gpushare.Resource: resource.MustParse("2")},
				},
			}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		if node == "" {
			require.NoError(t, pods.Bind(t.Context(), &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Target:     corev1.ObjectReference{Kind: "Node", Name: "node-1"},
			}, metav1.CreateOptions{}))
			pod, err = pods.Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
		}
		require.Equal(t, "node-1", pod.Spec.NodeName)
		now := metav1.Now()
		pod.Status = corev1.PodStatus{
			Phase: corev1.PodFailed, Reason: "OutOfcpu", Message: "Pod was rejected: Node didn't have enough resource: cpu", StartTime: &now,
		}
		pod, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{FieldManager: "kubelet"})
		require.NoError(t, err)
		failed = append(failed, pod)
	}

	r := &recreate.Recreator{
		Client: plane.Client, Bus: membus.New().Session(), Resource: gpushare.Resource, Log: slog.New(slog.DiscardHandler),
	}
	begun := time.Now()
	require.NoError(t, r.Recreate(t.Context(), failed, begun))
	require.NoError(t, r.Recreate(t.Context(), failed, begun.Add(time.Second)))
	for i, name := range []string{failed[0].Name, failed[1].Name} {
		again, err := pods.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.NotEqual(t, failed[i].UID, again.UID)
		require.Equal(t, failed[i].Spec.Containers, again.Spec.Containers)
		require.Equal(t, failed[i].Labels, again.Labels)
		require.Equal(t, map[string]string{"pinned": "node-1", "scheduled": ""}[name], again.Spec.NodeName, name)
	}
}
