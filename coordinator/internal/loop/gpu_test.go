package loop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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
