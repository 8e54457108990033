//go:build cgo

package nvml

import (
	"os"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpuuse"
)

func TestUtilization_ReadsSamples(t *testing.T) {
	s, device := fakeServer()
	first := growth.GPU(device(0).UUID)
	device(0).GetProcessUtilizationFunc = func(since uint64) ([]nvml.ProcessUtilizationSample, nvml.Return) {
		require.EqualValues(t, 5, since)
		return []nvml.ProcessUtilizationSample{{Pid: 10, TimeStamp: 9, SmUtil: 60}, {Pid: 11, TimeStamp: 9, SmUtil: 4_000_000}}, nvml.SUCCESS
	}
	device(1).GetMigModeFunc = func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_ENABLE, 0, nvml.SUCCESS }
	device(2).GetProcessUtilizationFunc = func(uint64) ([]nvml.ProcessUtilizationSample, nvml.Return) {
		return nil, nvml.ERROR_NOT_SUPPORTED
	}
	source, err := open(s, host)
	require.NoError(t, err)
	all, err := source.Utilization(t.Context(), map[growth.GPU]uint64{first: 5})
	require.NoError(t, err)
	require.Len(t, all, 6, "MIG instances and GPUs that do not support it are not measured")
	require.Equal(t, gpu.Utilization{Device: first, Samples: []gpuuse.Sample{{PID: 10, At: 9, Percent: 60}}}, all[0])
	require.Empty(t, all[1].Samples, "an idle GPU is measured")
}

// The contract with a real driver, on machines that have one.
func TestUtilization_OfARealDriver(t *testing.T) {
	if _, err := os.Stat("/dev/nvidiactl"); err != nil {
		t.Skip("this machine has no NVIDIA driver")
	}
	driver, err := Open()
	require.NoError(t, err)
	defer driver.Close()
	devices, err := driver.Devices(t.Context())
	require.NoError(t, err)
	known := map[growth.GPU]bool{}
	for _, d := range devices {
		known[d.PhysicalGPU()] = true
	}
	since := map[growth.GPU]uint64{}
	busy := 0
	for range 5 {
		all, err := driver.Utilization(t.Context(), since)
		require.NoError(t, err)
		for _, u := range all {
			require.True(t, known[u.Device], "GPU %s is in the inventory", u.Device)
			for _, sample := range u.Samples {
				require.Greater(t, sample.At, since[u.Device], "only samples after the given time")
				require.LessOrEqual(t, sample.Percent, 100)
				busy += sample.Percent
			}
			for _, sample := range u.Samples {
				since[u.Device] = max(since[u.Device], sample.At)
			}
		}
		time.Sleep(time.Second)
	}
	if os.Getenv("TRELLIS_GPU_BUSY") != "" { // a process computes meanwhile
		require.Positive(t, busy)
	}
}
