package recreate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

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
