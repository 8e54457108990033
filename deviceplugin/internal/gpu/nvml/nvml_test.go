//go:build cgo

package nvml

import (
	"context"
	"errors"
	"testing"
	"testing/fstest"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// fakeServer returns go-nvml's mock of a DGX A100 with additional calls: every GPU has a bus address and one NVLink
// to a common switch. Tests can make its methods fail.
func fakeServer() (*dgxa100.Server, func(i int) *dgxa100.Device) {
	s := dgxa100.New()
	device := func(i int) *dgxa100.Device { return s.Devices[i].(*dgxa100.Device) }
	for i := range s.Devices {
		device(i).GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) { return pciInfo(i), nvml.SUCCESS }
		device(i).GetNvLinkStateFunc = func(link int) (nvml.EnableState, nvml.Return) {
			if link > 1 {
				return 0, nvml.ERROR_INVALID_ARGUMENT
			}
			return nvml.EnableState(1 - link), nvml.SUCCESS // the second link is down
		}
		device(
			i).GetNvLinkRemotePciInfoFunc = func(int) (nvml.PciInfo, nvml.Return) { return pciInfo(100), nvml.SUCCESS }
		device(i).GetSupportedEventTypesFunc = func() (uint64, nvml.Return) { return nvml.EventTypeAll, nvml.SUCCESS }
		device(i).RegisterEventsFunc = func(uint64, nvml.EventSet) nvml.Return { return nvml.SUCCESS }
		device(i).GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.SUCCESS }
		device(i).GetProcessUtilizationFunc = func(uint64) ([]nvml.ProcessUtilizationSample, nvml.Return) {
			return nil, nvml.ERROR_NOT_FOUND
		}
	}
	return s, device
}

func pciInfo(bus int) nvml.PciInfo {
	info := nvml.PciInfo{Bus: uint32(bus)}
	copy(info.BusId[:], busAddress(nvml.PciInfo{})+string(rune('a'+bus)))
	return info
}

// host is a kernel that knows the first GPU's NUMA node.
var host = fstest.MapFS{"bus/pci/devices/0000:00:00.0/numa_node": {Data: []byte("1\n")}}

func TestDevices_ListsDGX(t *testing.T) {
	s, device := fakeServer()
	source, err := open(s, host)
	require.NoError(t, err)
	defer source.Close()
	require.Equal(t, "550.54.15", source.Version())
	devices, err := source.Devices(t.Context())
	require.NoError(t, err)
	require.Len(t, devices, 8)
	for i, d := range devices {
		require.Equal(t, growth.GPU(device(i).UUID), d.UUID)
		require.Equal(t, 40*growth.GiB, d.Memory)
		require.Equal(t, "Mock NVIDIA A100-SXM4-40GB", d.Model)
		require.Equal(t, i, d.Minor)
		require.Len(t, d.Links, 7, "connected through the switch")
		require.NotContains(t, d.Links, d.UUID)
		require.True(t, d.Healthy)
	}
	require.Equal(t, 1, devices[0].NUMA)
	require.Equal(t, -1, devices[1].NUMA, "the kernel does not report it")
}

func TestDevices_DirectLinks(t *testing.T) {
	s, device := fakeServer()
	for i := range s.Devices {
		device(
			i).GetNvLinkRemotePciInfoFunc = func(int) (nvml.PciInfo, nvml.Return) {
			return pciInfo(
				i ^ 1), nvml.SUCCESS
		}
	}
	source, err := open(s, host)
	require.NoError(t, err)
	devices, err := source.Devices(t.Context())
	require.NoError(t, err)
	for i, d := range devices {
		require.Equal(t, []growth.GPU{devices[i^1].UUID}, d.Links)
	}
}

// migHandle returns the handle of a MIG instance.
func migHandle(uuid string, gi, ci int) *mock.Device {
	return &mock.Device{
		GetUUIDFunc:              func() (string, nvml.Return) { return uuid, nvml.SUCCESS },
		GetNameFunc:              func() (string, nvml.Return) { return "A100 MIG 1g.5gb", nvml.SUCCESS },
		GetMemoryInfoFunc:        func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 5 << 30}, nvml.SUCCESS },
		GetMinorNumberFunc:       func() (int, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED },
		GetGpuInstanceIdFunc:     func() (int, nvml.Return) { return gi, nvml.SUCCESS },
		GetComputeInstanceIdFunc: func() (int, nvml.Return) { return ci, nvml.SUCCESS },
	}
}

func TestDevices_ReplacesGPUByMIGInstances(t *testing.T) {
	s, device := fakeServer()
	device(0).GetMigModeFunc = func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_ENABLE, 0, nvml.SUCCESS }
	device(0).GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	device(0).GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i != 2 && i != 5 {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return migHandle("MIG-"+string(rune('0'+i)), i, 0), nvml.SUCCESS
	}
	device(1).GetMigModeFunc = device(0).GetMigModeFunc
	device(1).GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 0, nvml.SUCCESS }
	source, err := open(s, host)
	require.NoError(t, err)
	devices, err := source.Devices(t.Context())
	require.NoError(t, err)
	require.Len(t, devices, 2+6, "the second GPU has no instances")
	require.Equal(t, gpu.Device{
		UUID:     "MIG-2",
		Model:    "A100 MIG 1g.5gb",
		Memory:   5 * growth.GiB,
		Healthy:  true,
		NUMA:     1,
		Instance: &gpu.Instance{Parent: growth.GPU(device(0).UUID), GPU: 2},
	}, devices[0])
	require.Equal(t, growth.GPU("MIG-5"), devices[1].UUID)
}

func TestDevices_IsolatesFailingGPU(t *testing.T) {
	s, device := fakeServer()
	device(1).GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_GPU_IS_LOST }
	device(2).GetUUIDFunc = func() (string, nvml.Return) { return "", nvml.ERROR_UNKNOWN }
	device(3).GetNameFunc = func() (string, nvml.Return) { return "", nvml.ERROR_UNKNOWN }
	device(4).GetUUIDFunc = func() (string, nvml.Return) { return "../../etc\n", nvml.SUCCESS }
	source, err := open(s, host)
	require.NoError(t, err)
	devices, err := source.Devices(t.Context())
	require.NoError(t, err)
	require.Len(t, devices, 6, "a GPU without a UUID is ignored")
	require.False(t, devices[1].Healthy)
	require.Contains(t, devices[1].Reason, "memory")
	require.True(t, devices[2].Healthy)
	require.Empty(t, devices[2].Model)
}

func TestOpen_ErrorsExplainWhatToDo(t *testing.T) {
	for code, words := range map[nvml.Return]string{
		nvml.ERROR_LIBRARY_NOT_FOUND:       "install the NVIDIA driver",
		nvml.ERROR_DRIVER_NOT_LOADED:       "not loaded",
		nvml.ERROR_NO_PERMISSION:           "no permission",
		nvml.ERROR_LIB_RM_VERSION_MISMATCH: "different versions",
		nvml.ERROR_FUNCTION_NOT_FOUND:      "too old",
		nvml.ERROR_UNKNOWN:                 "reported an error",
	} {
		s, _ := fakeServer()
		s.InitFunc = func() nvml.Return { return code }
		_, err := open(s, host)
		require.ErrorContains(t, err, words)
		require.ErrorIs(t, err, code)

		s, _ = fakeServer()
		s.DeviceGetCountFunc = func() (int, nvml.Return) { return 0, code }
		source, err := open(s, host)
		require.NoError(t, err)
		_, err = source.Devices(t.Context())
		require.ErrorContains(t, err, words)
	}
	for version, words := range map[string]string{"418.87.00": "too old: install 450", "latest": "is not a version number"} {
		s, _ := fakeServer()
		s.DriverVersion = version
		_, err := open(s, host)
		require.ErrorContains(t, err, words)
	}
	s, _ := fakeServer()
	s.DeviceGetCountFunc = func() (int, nvml.Return) { return 1 << 30, nvml.SUCCESS }
	source, err := open(s, host)
	require.NoError(t, err)
	_, err = source.Devices(t.Context())
	require.ErrorContains(t, err, "1073741824 GPUs")
}

func TestDevices_ReopensReloadedDriver(t *testing.T) {
	s, _ := fakeServer()
	source, err := open(s, host)
	require.NoError(t, err)
	inits := 0
	s.InitFunc = func() nvml.Return {
		inits++
		return nvml.SUCCESS
	}
	s.DeviceGetCountFunc = func() (int, nvml.Return) {
		if inits == 0 {
			return 0, nvml.ERROR_UNINITIALIZED
		}
		return 8, nvml.SUCCESS
	}
	devices, err := source.Devices(t.Context())
	require.NoError(t, err)
	require.Len(t, devices, 8)
	require.Equal(t, 1, inits)
}

// eventSet returns an event set that delivers the events and then cancels the wait.
func eventSet(end context.CancelFunc, events ...func() (nvml.EventData, nvml.Return)) *mock.EventSet {
	return &mock.EventSet{
		FreeFunc: func() nvml.Return { return nvml.SUCCESS },
		WaitFunc: func(uint32) (nvml.EventData, nvml.Return) {
			if len(events) == 0 {
				end()
				return nvml.EventData{}, nvml.ERROR_TIMEOUT
			}
			next := events[0]
			events = events[1:]
			return next()
		},
	}
}

func TestFaults_ReportsEvents(t *testing.T) {
	s, device := fakeServer()
	event := func(kind, data uint64, gi, ci uint32) func() (nvml.EventData, nvml.Return) {
		return func() (nvml.EventData, nvml.Return) {
			return nvml.EventData{
				Device:            device(3),
				EventType:         kind,
				EventData:         data,
				GpuInstanceId:     gi,
				ComputeInstanceId: ci,
			}, nvml.SUCCESS
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) {
		return eventSet(cancel,
			event(nvml.EventTypeXidCriticalError, 79, wholeGPU, wholeGPU),
			func() (nvml.EventData, nvml.Return) { return nvml.EventData{}, nvml.ERROR_TIMEOUT },
			event(nvml.EventTypeDoubleBitEccError, 1, wholeGPU, wholeGPU),
			event(nvml.EventTypeXidCriticalError, 95, 2, 0),
			event(nvml.EventTypePState, 7, wholeGPU, wholeGPU),
			func() (nvml.EventData, nvml.Return) {
				return nvml.EventData{EventType: nvml.EventTypeXidCriticalError}, nvml.SUCCESS
			},
		), nvml.SUCCESS
	}
	device(5).RegisterEventsFunc = func(uint64, nvml.EventSet) nvml.Return { return nvml.ERROR_NOT_SUPPORTED }
	source, err := open(s, host)
	require.NoError(t, err)
	var faults []gpu.Fault
	require.NoError(t, source.Faults(ctx, func(f gpu.Fault) { faults = append(faults, f) }))
	board := growth.GPU(device(3).UUID)
	require.Equal(t, []gpu.Fault{
		{
			GPU: board,
			XID: 79,
		}, {
			GPU: board,
			XID: 48,
		}, {
			GPU: board,
			XID: 95,
			Instance: &gpu.Instance{
				Parent: board,
				GPU:    2,
			},
		},
	}, faults)
}

func TestFaults_ExplainsMissingEvents(t *testing.T) {
	s, device := fakeServer()
	source, err := open(s, host)
	require.NoError(t, err)
	s.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) { return nil, nvml.ERROR_UNKNOWN }
	require.ErrorIs(t, source.Faults(t.Context(), nil), nvml.ERROR_UNKNOWN)

	s.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) {
		return eventSet(nil,
			func() (nvml.EventData, nvml.Return) { return nvml.EventData{}, nvml.ERROR_GPU_IS_LOST }), nvml.SUCCESS
	}
	require.ErrorIs(t, source.Faults(t.Context(), nil), nvml.ERROR_GPU_IS_LOST)

	for i := range s.Devices {
		device(i).GetSupportedEventTypesFunc = func() (uint64, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
	}
	require.True(t, errors.Is(source.Faults(t.Context(), nil), ErrNoEvents))
}

func TestProcessesAreListed(t *testing.T) {
	s, device := fakeServer()
	device(0).GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{
			Pid:           10,
			UsedGpuMemory: 3 << 30,
		}, {
			Pid:           11,
			UsedGpuMemory: notAvailable,
		}, {Pid: 12}, {
			Pid:           13,
			UsedGpuMemory: 41 << 30, // the GPU has 40
		}}, nvml.SUCCESS
	}
	var since []uint64
	device(0).GetProcessUtilizationFunc = func(last uint64) ([]nvml.ProcessUtilizationSample, nvml.Return) {
		since = append(since, last)
		return []nvml.ProcessUtilizationSample{
			{
				Pid:       10,
				TimeStamp: 5,
				SmUtil:    40,
			}, {
				Pid:       10,
				TimeStamp: 9,
				SmUtil:    60,
			}, {
				Pid:       11,
				TimeStamp: 7,
				SmUtil:    4_000_000,
			},
		}, nvml.SUCCESS
	}
	device(
		1).GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.ERROR_UNKNOWN }
	source, err := open(s, host)
	require.NoError(t, err)
	uuid := growth.GPU(device(0).UUID)
	for range 2 {
		processes, err := source.Processes(t.Context())
		require.NoError(t, err)
		require.Equal(t, []gpu.Process{
			{
				PID:    10,
				Device: uuid,
				Memory: 3 * growth.GiB,
				Busy:   50,
			},
			{
				PID:    11,
				Device: uuid,
				Memory: -1,
				Busy:   0,
			},
			{PID: 12, Device: uuid, Busy: 0},
			{PID: 13, Device: uuid, Memory: -1, Busy: 0},
		}, processes)
	}
	require.Equal(t, []uint64{0, 9}, since, "each sample counts once")
}
