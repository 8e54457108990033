package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// Kubelet allocates GPU-1 to every job of this test.
func TestGPUs_AnnotationNamesWhatKubeletAllocated(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.arrive("swapped", gpushare.GPUAnnotation+"=GPU-2")
		w.arrive("kept", gpushare.GPUAnnotation+"=GPU-1")
		w.arrive("never-planned")
		w.pass(interval)
		require.Equal(t, "GPU-1", w.annotated["swapped"][gpushare.GPUAnnotation])
		require.NotContains(t, w.annotated["kept"], gpushare.GPUAnnotation)
		require.Equal(t, "GPU-1", w.annotated["never-planned"][gpushare.GPUAnnotation])
		require.Equal(t, 1, w.eventCount("swapped OtherGPU: kubelet allocated GPU-1 instead of the planned GPU-2"))
		require.Equal(t, 1, w.eventCount("OtherGPU"), "a pod without planned GPUs gets no event")
	})
}

func TestGPUs_AnnotatesAPodThatIsNeverSeenRunning(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		brief := node.Pod{Ref: ref("brief"), Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.GPUAnnotation: "GPU-2"}}
		w.apply(brief) // bound
		w.pass(0)
		require.NotContains(t, w.annotated, "brief", "kubelet has not allocated yet")
		w.allocate("brief")
		w.pass(0)
		require.Equal(t, "GPU-1", w.annotated["brief"][gpushare.GPUAnnotation])
		w.apply(brief) // ended; the informer does not have the annotation yet
		w.pass(interval)
		require.Equal(t, 1, w.eventCount("brief OtherGPU: kubelet allocated GPU-1 instead of the planned GPU-2"))
		require.Zero(t, w.eventCount("brief BadAnnotation"))
	})
}

// Kubelet crashes after a container has ended and before it has reported this. It admits the pod again, on GPU-2.
func TestGPUs_IgnoresASecondAdmissionAfterTheStart(t *testing.T) {
	for name, tc := range map[string]struct{ startSeen, startSeenLater bool }{
		"the start is reported before the second admission": {startSeen: true},
		"the start is reported after the second admission":  {startSeenLater: true},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.Fair, func(t *testing.T, w *harness) {
				pod := node.Pod{Ref: ref("brief"), Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.GPUAnnotation: "GPU-1"}}
				w.apply(pod) // bound
				w.allocate("brief")
				w.pass(2 * time.Second)
				began := w.now
				if tc.startSeen {
					pod.Started = began
					w.apply(pod)
				}
				w.pass(20 * time.Second)
				w.allocateOn("brief", "GPU-2")
				w.pass(time.Second)
				if tc.startSeenLater {
					require.Equal(t, "GPU-2", w.annotated["brief"][gpushare.GPUAnnotation], "the start time is not known yet")
					pod.Started = began
					w.apply(pod)
					w.pass(time.Second)
					require.Equal(t, "GPU-1", w.annotated["brief"][gpushare.GPUAnnotation])
					return
				}
				require.NotContains(t, w.annotated, "brief")
				require.Zero(t, w.eventCount("OtherGPU"))
			})
		})
	}
}

func TestGPUs_UsesTheLastAdmissionBeforeTheStart(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		pod := node.Pod{Ref: ref("slow"), Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.GPUAnnotation: "GPU-1"}}
		w.apply(pod)
		w.allocate("slow")
		w.pass(20 * time.Second)
		w.allocateOn("slow", "GPU-2")
		w.pass(5 * time.Second)
		pod.Started = w.now
		w.apply(pod)
		w.pass(time.Second)
		require.Equal(t, "GPU-2", w.annotated["slow"][gpushare.GPUAnnotation])
		require.Equal(t, 1, w.eventCount("slow OtherGPU: kubelet allocated GPU-2 instead of the planned GPU-1"))
	})
}
