package recreate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRecreator_EventStatesReason(t *testing.T) {
	for name, tc := range map[string]struct{ reason, message, want string }{
		"a request larger than the free units": {
			"OutOfgpushare/gpu-mem", "Pod was rejected: Node didn't have enough resource: gpushare/gpu-mem, requested: 20, used: 9, capacity: 24",
			"its node had too little gpushare/gpu-mem (OutOfgpushare/gpu-mem: Node didn't have enough resource: gpushare/gpu-mem, requested: 20",
		},
		"no CPU": {"OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu", "its node had too little cpu (OutOfcpu"},
		"not aligned": {"TopologyAffinityError", "Pod was rejected: Resources cannot be allocated with Topology locality",
			"the node's Topology Manager could not align its resources (TopologyAffinityError"},
		"the device plugin refused": {"UnexpectedAdmissionError", "Pod was rejected: Allocate failed due to no single GPU has 4GiB left",
			"it could not allocate the pod's devices (UnexpectedAdmissionError: Allocate failed due to no single GPU has 4GiB left)"},
		"kubelet had restarted": {"UnexpectedAdmissionError", "Pod was rejected: cannot allocate unregistered device gpushare/gpu-mem",
			"kubelet or its device plugin was restarting (UnexpectedAdmissionError"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := rejected()
			pod.Status.Reason, pod.Status.Message = tc.reason, tc.message
			h := newHarness(t, pod)
			require.NoError(t, h.recreateAfterDelay(pod))
			events, err := h.client.CoreV1().Events("team").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, events.Items, 1)
			require.Contains(t, events.Items[0].Message, tc.want)
		})
	}
}

// TestRecreator_EventOfLongName: the API server accepts a name of at most 253 characters.
func TestRecreator_EventOfLongName(t *testing.T) {
	pod := rejected()
	pod.Name = strings.Repeat("p", 253)
	h := newHarness(t, pod)
	require.NoError(t, h.recreateAfterDelay(pod))
	events, err := h.client.CoreV1().Events("team").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, events.Items, 1)
	require.LessOrEqual(t, len(events.Items[0].Name), 253)
	require.Equal(t, pod.Name, events.Items[0].InvolvedObject.Name)
}
