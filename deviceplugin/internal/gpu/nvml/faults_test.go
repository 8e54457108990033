//go:build cgo

package nvml

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpuhealth"
	"github.com/trellis-gpu/trellis/growth"
)

// failures are the results of failing calls.
var failures = map[string]nvml.Return{
	"lost":    nvml.ERROR_GPU_IS_LOST,
	"unknown": nvml.ERROR_UNKNOWN,
	"timeout": nvml.ERROR_TIMEOUT,
	"memory":  nvml.ERROR_MEMORY,
	"hangs":   nvml.SUCCESS, // the call blocks for 10 s
}

// injectFailure makes one call of the library fail as long as fail returns true.
func injectFailure(s *dgxa100.Server, device *dgxa100.Device, call string, fail func() (nvml.Return, bool)) {
	switch call {
	case "DeviceGetCount":
		original := s.DeviceGetCountFunc
		s.DeviceGetCountFunc = func() (int, nvml.Return) {
			if code, ok := fail(); ok && code != nvml.SUCCESS {
				return 0, code
			}
			return original()
		}
	case "DeviceGetHandleByIndex":
		original := s.DeviceGetHandleByIndexFunc
		s.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
			if code, ok := fail(); ok && code != nvml.SUCCESS {
				return nil, code
			}
			return original(i)
		}
	case "GetUUID":
		device.GetUUIDFunc = failing(device.GetUUIDFunc, fail)
	case "GetName":
		device.GetNameFunc = failing(device.GetNameFunc, fail)
	case "GetMemoryInfo":
		device.GetMemoryInfoFunc = failing(device.GetMemoryInfoFunc, fail)
	case "GetMinorNumber":
		device.GetMinorNumberFunc = failing(device.GetMinorNumberFunc, fail)
	case "GetPciInfo":
		device.GetPciInfoFunc = failing(device.GetPciInfoFunc, fail)
	case "GetMigMode":
		original := device.GetMigModeFunc
		device.GetMigModeFunc = func() (int, int, nvml.Return) {
			if code, ok := fail(); ok && code != nvml.SUCCESS {
				return 0, 0, code
			}
			return original()
		}
	}
}

func failing[T any](original func() (T, nvml.Return), fail func() (nvml.Return, bool)) func() (T, nvml.Return) {
	return func() (T, nvml.Return) {
		var none T
		if code, ok := fail(); ok && code != nvml.SUCCESS {
			return none, code
		}
		return original()
	}
}

// lockedSource is a source that a test can lock while it changes the library.
type lockedSource struct {
	sync.Mutex
	gpu.Source
}

func (s *lockedSource) Devices(ctx context.Context) ([]gpu.Device, error) {
	s.Lock()
	defer s.Unlock()
	return s.Source.Devices(ctx)
}

// openInventory returns an inventory like the program's, and its source.
func openInventory(ctx context.Context, t *testing.T, s *dgxa100.Server) (*gpu.Inventory, *lockedSource) {
	t.Helper()
	opened, err := open(s, host)
	require.NoError(t, err)
	source := &lockedSource{Source: opened}
	monitor := gpuhealth.New(gpuhealth.Config{
		Policy:       gpuhealth.Default,
		RecoverAfter: time.Minute,
		LossAfter:    2 * time.Minute,
	})
	inventory, err := gpu.Open(ctx, &gpu.TimeoutSource{
		Source:  source,
		Timeout: 5 * time.Second,
	}, growth.GiB, slog.New(slog.DiscardHandler), monitor)
	require.NoError(t, err)
	go func() { _ = inventory.Run(ctx, 10*time.Second, time.Second) }()
	return inventory, source
}

var calls = []string{"DeviceGetCount", "DeviceGetHandleByIndex", "GetUUID", "GetName", "GetMemoryInfo",
	"GetMinorNumber", "GetPciInfo", "GetMigMode"}

// TestInventory_HidesTransientFailures makes each call fail once in each way: the advertised devices must not change.
func TestInventory_HidesTransientFailures(t *testing.T) {
	for _, call := range calls {
		for name, code := range failures {
			t.Run(call+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					s, device := fakeServer()
					var armed atomic.Bool
					injectFailure(s, device(3), call, func() (nvml.Return, bool) {
						if !armed.CompareAndSwap(true, false) {
							return 0, false
						}
						if code == nvml.SUCCESS {
							time.Sleep(10 * time.Second)
						}
						return code, true
					})
					inventory, _ := openInventory(ctx, t, s)
					before, _ := inventory.Devices()
					require.Len(t, before, 8)
					armed.Store(true)
					for range 40 {
						time.Sleep(700 * time.Millisecond)
						now, _ := inventory.Devices()
						require.Equal(t, before, withLinks(now, before), "advertised while %s %s", call, name)
					}
					require.False(t, armed.Load(), "the call was never made")
					require.False(t, inventory.Failing())
				})
			})
		}
	}
}

// withLinks ignores links, which do not affect memory.
func withLinks(devices, from []gpu.Device) []gpu.Device {
	for i := range min(len(devices), len(from)) {
		devices[i].Links = from[i].Links
	}
	return devices
}

// TestInventory_RecoversFromLastingFailures makes each call fail for minutes. No GPU may be added, removed or
// resized, and all must be healthy again later.
func TestInventory_RecoversFromLastingFailures(t *testing.T) {
	for _, call := range calls {
		for name, code := range failures {
			t.Run(call+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					s, device := fakeServer()
					var armed atomic.Bool
					injectFailure(s, device(3), call, func() (nvml.Return, bool) {
						if armed.Load() && code == nvml.SUCCESS {
							time.Sleep(10 * time.Second)
						}
						return code, armed.Load()
					})
					inventory, _ := openInventory(ctx, t, s)
					before, _ := inventory.Devices()
					armed.Store(true)
					out := false
					for range 40 {
						time.Sleep(7 * time.Second)
						now, _ := inventory.Devices()
						for i, d := range now {
							out = out || !d.Healthy
							require.Equal(t, before[i].UUID, d.UUID)
							require.Equal(t, before[i].Memory, d.Memory)
							require.Equal(t, before[i].Minor, d.Minor)
						}
					}
					cosmetic := strings.Contains("GetName GetMinorNumber GetPciInfo", call) && code != nvml.SUCCESS
					require.Equal(t, !cosmetic, out, "memory that cannot be verified is not advertised")
					armed.Store(false)
					time.Sleep(2 * time.Minute)
					now, _ := inventory.Devices()
					require.Equal(t, before, withLinks(now, before))
				})
			})
		}
	}
}

func TestInventory_RejectsImplausibleValues(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(s *dgxa100.Server, device *dgxa100.Device)
		healthy int
	}{
		"a GPU of 0 bytes": {func(_ *dgxa100.Server, d *dgxa100.Device) { d.MemoryInfo.Total = 0 }, 7},
		"a GPU of 16 EiB": {func(_ *dgxa100.Server, d *dgxa100.Device) { d.MemoryInfo.Total = ^uint64(0) },
			7},
		"a GPU of less than one unit": {func(_ *dgxa100.Server, d *dgxa100.Device) { d.MemoryInfo.Total = 1 << 20 }, 7},
		"another GPU's " +
			"UUID": {func(s *dgxa100.Server, d *dgxa100.Device) { d.UUID = s.Devices[0].(*dgxa100.Device).UUID }, 7},
		"a UUID with path separators": {func(_ *dgxa100.Server, d *dgxa100.Device) { d.UUID = "../../x y" }, 7},
		"a very long UUID": {func(_ *dgxa100.Server, d *dgxa100.Device) {
			d.UUID = strings.Repeat("G",
				4096)
		}, 7},
		"fewer GPUs": {func(s *dgxa100.Server, _ *dgxa100.Device) {
			s.DeviceGetCountFunc = returnCount(
				5)
		}, 5},
		"no GPUs": {func(s *dgxa100.Server, _ *dgxa100.Device) {
			s.DeviceGetCountFunc = returnCount(
				0)
		}, 0},
		"more GPUs than exist": {func(s *dgxa100.Server, _ *dgxa100.Device) {
			s.DeviceGetCountFunc = returnCount(
				9)
		}, 8},
		"a negative count": {func(s *dgxa100.Server, _ *dgxa100.Device) {
			s.DeviceGetCountFunc = returnCount(
				-1)
		}, 0},
		"a name with line feeds": {func(_ *dgxa100.Server, d *dgxa100.Device) { d.Name = "A100\n\x00\xff" }, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s, device := fakeServer()
				inventory, source := openInventory(ctx, t, s)
				before, _ := inventory.Devices()
				source.Lock()
				tc.change(s, device(3))
				source.Unlock()
				time.Sleep(5 * time.Minute)
				now, _ := inventory.Devices()
				healthy := 0
				for i, d := range now[:8] {
					require.Equal(t, before[i].Memory, d.Memory)
					if d.Healthy {
						healthy++
					}
				}
				require.Equal(t, tc.healthy, healthy)
				require.Len(t, now, 8, "no GPU was added")
			})
		})
	}
}

func returnCount(n int) func() (int, nvml.Return) {
	return func() (int, nvml.Return) { return n, nvml.SUCCESS }
}

func TestInventory_AddsHotpluggedGPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s, _ := fakeServer()
		var plugged atomic.Int32
		plugged.Store(7)
		s.DeviceGetCountFunc = func() (int, nvml.Return) { return int(plugged.Load()), nvml.SUCCESS }
		inventory, _ := openInventory(ctx, t, s)
		before, changed := inventory.Devices()
		require.Len(t, before, 7)
		plugged.Store(8)
		time.Sleep(11 * time.Second)
		<-changed
		now, _ := inventory.Devices()
		require.Len(t, now, 8)
	})
}
