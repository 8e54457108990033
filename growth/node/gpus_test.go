package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// Every job of this test gets GPU-1 from its kubelet.
func TestGPUs_AnnotationNamesWhatKubeletAllocated(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.arrive("swapped", gpushare.GPUAnnotation+"=GPU-2")
		w.arrive("kept", gpushare.GPUAnnotation+"=GPU-1")
		w.arrive("never-planned")
		w.pass(interval)
		require.Equal(t, "GPU-1", w.noted["swapped"][gpushare.GPUAnnotation])
		require.NotContains(t, w.noted["kept"], gpushare.GPUAnnotation)
		require.Equal(t, "GPU-1", w.noted["never-planned"][gpushare.GPUAnnotation])
		require.Equal(t, 1, w.eventCount("swapped OtherGPU: kubelet gave it GPU-1, where GPU-2 was planned"))
		require.Equal(t, 1, w.eventCount("OtherGPU"), "who had no plan is not surprised")
	})
}

func TestGPUs_OfAPodThatIsNeverSeenRunning(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		brief := node.Pod{Ref: ref("brief"), Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.GPUAnnotation: "GPU-2"}}
		w.apply(brief) // bound
		w.pass(0)
		require.NotContains(t, w.noted, "brief", "kubelet has given it nothing yet")
		w.allocate("brief")
		w.pass(0)
		require.Equal(t, "GPU-1", w.noted["brief"][gpushare.GPUAnnotation])
		w.apply(brief) // over, by an informer that has not heard of the annotation
		w.pass(interval)
		require.Equal(t, 1, w.eventCount("brief OtherGPU: kubelet gave it GPU-1, where GPU-2 was planned"))
		require.Zero(t, w.eventCount("brief BadAnnotation"))
	})
}

// Kubelet dies when a container has ended and before it could say so. It takes the pod in once more, and gives it
// GPU-2.
func TestGPUs_OfTheContainerAndNotOfALaterAdmission(t *testing.T) {
	for name, tc := range map[string]struct{ began, afterwards bool }{
		"the container was seen to begin": {began: true},
		"its start is seen afterwards":    {afterwards: true},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.Fair, func(t *testing.T, w *harness) {
				pod := node.Pod{Ref: ref("brief"), Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.GPUAnnotation: "GPU-1"}}
				w.apply(pod) // bound
				w.allocate("brief")
				w.pass(2 * time.Second)
				began := w.now
				if tc.began {
					pod.Started = began
					w.apply(pod)
				}
				w.pass(20 * time.Second)
				w.allocateOn("brief", "GPU-2")
				w.pass(time.Second)
				if tc.afterwards {
					require.Equal(t, "GPU-2", w.noted["brief"][gpushare.GPUAnnotation], "nobody can know yet")
					pod.Started = began
					w.apply(pod)
					w.pass(time.Second)
					require.Equal(t, "GPU-1", w.noted["brief"][gpushare.GPUAnnotation])
					return
				}
				require.NotContains(t, w.noted, "brief")
				require.Zero(t, w.eventCount("OtherGPU"))
			})
		})
	}
}

func TestGPUs_OfAPodAdmittedTwiceBeforeItsStart(t *testing.T) {
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
		require.Equal(t, "GPU-2", w.noted["slow"][gpushare.GPUAnnotation])
		require.Equal(t, 1, w.eventCount("slow OtherGPU: kubelet gave it GPU-2, where GPU-1 was planned"))
	})
}
