//go:build cgo

package nvml

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

// server is go-nvml's picture of a DGX A100, whose methods can be made to fail.
func server() (*dgxa100.Server, func(i int) *dgxa100.Device) {
	s := dgxa100.New()
	return s, func(i int) *dgxa100.Device { return s.Devices[i].(*dgxa100.Device) }
}

func TestADGXIsListed(t *testing.T) {
	s, device := server()
	source, err := open(s)
	require.NoError(t, err)
	defer source.Close()
	devices, err := source.Devices(t.Context())
	require.NoError(t, err)
	require.Len(t, devices, 8)
	for i, d := range devices {
		require.Equal(t, growth.GPU(device(i).UUID), d.UUID)
		require.Equal(t, 40*growth.GiB, d.Memory)
		require.Equal(t, "Mock NVIDIA A100-SXM4-40GB", d.Model)
		require.True(t, d.Healthy)
	}
}

func TestOneGPUsFaultIsItsOwn(t *testing.T) {
	s, device := server()
	device(1).GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_GPU_IS_LOST }
	device(2).GetUUIDFunc = func() (string, nvml.Return) { return "", nvml.ERROR_UNKNOWN }
	device(3).GetNameFunc = func() (string, nvml.Return) { return "", nvml.ERROR_UNKNOWN }
	source, err := open(s)
	require.NoError(t, err)
	devices, err := source.Devices(t.Context())
	require.NoError(t, err)
	require.Len(t, devices, 7, "a GPU without a UUID is nobody")
	require.False(t, devices[1].Healthy)
	require.Contains(t, devices[1].Reason, "memory")
	require.True(t, devices[2].Healthy)
	require.Equal(t, "unknown", devices[2].Model)
}

func TestFailuresSayWhatToDo(t *testing.T) {
	for code, words := range map[nvml.Return]string{
		nvml.ERROR_LIBRARY_NOT_FOUND:       "install the NVIDIA driver",
		nvml.ERROR_DRIVER_NOT_LOADED:       "not loaded",
		nvml.ERROR_NO_PERMISSION:           "no permission",
		nvml.ERROR_LIB_RM_VERSION_MISMATCH: "different versions",
		nvml.ERROR_UNKNOWN:                 "refused",
	} {
		s, _ := server()
		s.InitFunc = func() nvml.Return { return code }
		_, err := open(s)
		require.ErrorContains(t, err, words)
		require.ErrorIs(t, err, code)

		s, _ = server()
		s.DeviceGetCountFunc = func() (int, nvml.Return) { return 0, code }
		source, err := open(s)
		require.NoError(t, err)
		_, err = source.Devices(t.Context())
		require.ErrorContains(t, err, words)
	}
}
