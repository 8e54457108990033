package loop_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth/flowcon"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Every job of this world gets GPU-1 from its kubelet.
func TestAPodSaysWhichGPUKubeletGaveIt(t *testing.T) {
	in(t, flowcon.Fair, func(t *testing.T, w *world) {
		w.arrive("swapped", gpushare.GPUAnnotation+"=GPU-2")
		w.arrive("kept", gpushare.GPUAnnotation+"=GPU-1")
		w.arrive("never-planned")
		w.pass(interval)
		require.Equal(t, "GPU-1", w.noted["swapped"][gpushare.GPUAnnotation])
		require.NotContains(t, w.noted["kept"], gpushare.GPUAnnotation)
		require.Equal(t, "GPU-1", w.noted["never-planned"][gpushare.GPUAnnotation])
		require.Equal(t, 1, w.told("swapped OtherGPU: kubelet gave it GPU-1, where GPU-2 was planned"))
		require.Equal(t, 1, w.told("OtherGPU"), "who had no plan is not surprised")
	})
}

func TestAPodThatIsNeverSeenRunningSaysItAllTheSame(t *testing.T) {
	in(t, flowcon.Fair, func(t *testing.T, w *world) {
		brief := pods.Pod{Ref: ref("brief"), Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.GPUAnnotation: "GPU-2"}}
		w.apply(brief) // bound
		synctest.Wait()
		require.NotContains(t, w.noted, "brief", "kubelet has given it nothing yet")
		w.allocate("brief")
		synctest.Wait()
		require.Equal(t, "GPU-1", w.noted["brief"][gpushare.GPUAnnotation])
		w.apply(brief) // over, by an informer that has not heard of the annotation
		w.pass(interval)
		require.Equal(t, 1, w.told("brief OtherGPU: kubelet gave it GPU-1, where GPU-2 was planned"))
		require.Zero(t, w.told("brief BadAnnotation"))
	})
}
