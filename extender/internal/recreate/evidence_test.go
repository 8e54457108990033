package recreate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/recreate"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// A pod with a trace on the bus has run, although its status lists no container.
func TestRecreator_KeepsPodWithTraceOnBus(t *testing.T) {
	for name, key := range map[string]string{
		"sample":     bus.SampleKey("old"),
		"advice":     bus.AdviceKey("old"),
		"allocation": bus.AllocationKey("node-1", "old"),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, rejected())
			_, err := h.mem.Session().Put(t.Context(), key, []byte("{}"), bus.Persistent)
			require.NoError(t, err)
			require.NoError(t, h.recreateAfterDelay(rejected()))
			require.EqualValues(t, "old", h.uid())
			require.Zero(t, h.recorded())
		})
	}
}

// A pod whose image was still being pulled when kubelet restarted may have run, as far as its status shows. One event, however
// many replicas there are, says why it stays Failed. Events of the past are not written again.
func TestRecreator_SaysWhyAPodStaysFailed(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		rejected time.Time
		events   int
	}{
		"just now":      {now.Add(-time.Minute), 1},
		"hours ago":     {now.Add(-3 * time.Hour), 0},
		"at an unknown": {time.Time{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			pod := rejected()
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue}}
			if !tc.rejected.IsZero() {
				at := metav1.NewTime(tc.rejected)
				pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", Subresource: "status", Time: &at}}
			}
			h := newHarness(t, pod)
			other := &recreate.Recreator{Client: h.client, Bus: h.Bus, Resource: h.Resource, Log: h.Log}
			for range 3 {
				require.NoError(t, h.recreateAfterDelay(pod))
				require.NoError(t, other.Recreate(t.Context(), []*corev1.Pod{pod}, now))
			}
			require.EqualValues(t, "old", h.uid())
			events, err := h.client.CoreV1().Events("team").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, events.Items, tc.events)
			for _, e := range events.Items {
				require.Equal(t, "StaysFailed", e.Reason)
				require.Contains(t, e.Message, "was restarting. Trellis does not recreate it, because it may have run: its containers could start.")
			}
		})
	}
}

func TestRecreator_RemembersSample(t *testing.T) {
	h, pod, now := newHarness(t, rejected()), rejected(), time.Now()
	session := h.mem.Session()
	_, err := session.Put(t.Context(), bus.SampleKey("old"), []byte("{}"), bus.Ephemeral)
	require.NoError(t, err)
	require.NoError(t, h.Recreate(t.Context(), []*corev1.Pod{pod}, now))
	require.NoError(t, session.Close(), "the node's lease ends")
	require.NoError(t, h.Recreate(t.Context(), []*corev1.Pod{pod}, now.Add(time.Minute)))
	require.EqualValues(t, "old", h.uid())
}

func TestRecreator_AllocationOfRejectedPodIsDeletedInTime(t *testing.T) {
	h, pod, now := newHarness(t, rejected()), rejected(), time.Now()
	key := bus.AllocationKey("node-1", "old") // of a pod of two containers, of which kubelet rejected the second
	_, err := h.mem.Session().Put(t.Context(), key, []byte("{}"), bus.Persistent)
	require.NoError(t, err)
	require.NoError(t, h.Recreate(t.Context(), []*corev1.Pod{pod}, now))
	require.NoError(t, h.mem.Session().Delete(t.Context(), key))
	require.NoError(t, h.Recreate(t.Context(), []*corev1.Pod{pod}, now.Add(time.Second)))
	require.EqualValues(t, "new", h.uid())
}
