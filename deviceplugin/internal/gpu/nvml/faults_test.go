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

// ills are ways to go wrong: what a call answers instead of its answer.
var ills = map[string]nvml.Return{
	"lost":    nvml.ERROR_GPU_IS_LOST,
	"unknown": nvml.ERROR_UNKNOWN,
	"timeout": nvml.ERROR_TIMEOUT,
	"memory":  nvml.ERROR_MEMORY,
	"hangs":   nvml.SUCCESS, // and answers after 10 s
}

// afflict makes one call of the library ill for as long as ill() says so.
func afflict(s *dgxa100.Server, device *dgxa100.Device, call string, ill func() (nvml.Return, bool)) {
	switch call {
	case "DeviceGetCount":
		good := s.DeviceGetCountFunc
		s.DeviceGetCountFunc = func() (int, nvml.Return) {
			if code, ok := ill(); ok && code != nvml.SUCCESS {
				return 0, code
			}
			return good()
		}
	case "DeviceGetHandleByIndex":
		good := s.DeviceGetHandleByIndexFunc
		s.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
			if code, ok := ill(); ok && code != nvml.SUCCESS {
				return nil, code
			}
			return good(i)
		}
	case "GetUUID":
		device.GetUUIDFunc = sick(device.GetUUIDFunc, ill)
	case "GetName":
		device.GetNameFunc = sick(device.GetNameFunc, ill)
	case "GetMemoryInfo":
		device.GetMemoryInfoFunc = sick(device.GetMemoryInfoFunc, ill)
	case "GetMinorNumber":
		device.GetMinorNumberFunc = sick(device.GetMinorNumberFunc, ill)
	case "GetPciInfo":
		device.GetPciInfoFunc = sick(device.GetPciInfoFunc, ill)
	case "GetMigMode":
		good := device.GetMigModeFunc
		device.GetMigModeFunc = func() (int, int, nvml.Return) {
			if code, ok := ill(); ok && code != nvml.SUCCESS {
				return 0, 0, code
			}
			return good()
		}
	}
}

func sick[T any](good func() (T, nvml.Return), ill func() (nvml.Return, bool)) func() (T, nvml.Return) {
	return func() (T, nvml.Return) {
		var none T
		if code, ok := ill(); ok && code != nvml.SUCCESS {
			return none, code
		}
		return good()
	}
}

// still is a source that can be held, so that a test may change what it is made of.
type still struct {
	sync.Mutex
	gpu.Source
}

func (s *still) Devices(ctx context.Context) ([]gpu.Device, error) {
	s.Lock()
	defer s.Unlock()
	return s.Source.Devices(ctx)
}

// stocked is the inventory as the program has it, and its source.
func stocked(ctx context.Context, t *testing.T, s *dgxa100.Server) (*gpu.Stock, *still) {
	t.Helper()
	opened, err := open(s, host)
	require.NoError(t, err)
	source := &still{Source: opened}
	monitor := gpuhealth.New(gpuhealth.Config{
		Policy:       gpuhealth.Default,
		RecoverAfter: time.Minute,
		LossAfter:    2 * time.Minute,
	})
	stock, err := gpu.Open(ctx, &gpu.Patient{
		Source: source,
		Within: 5 * time.Second,
	}, growth.GiB, slog.New(slog.DiscardHandler), monitor)
	require.NoError(t, err)
	go func() { _ = stock.Run(ctx, 10*time.Second, time.Second) }()
	return stock, source
}

var calls = []string{"DeviceGetCount", "DeviceGetHandleByIndex", "GetUUID", "GetName", "GetMemoryInfo", "GetMinorNumber", "GetPciInfo", "GetMigMode"}

// TestAPassingIllIsNotAdvertised makes each call ill in each way, once, and looks at what is advertised meanwhile.
func TestAPassingIllIsNotAdvertised(t *testing.T) {
	for _, call := range calls {
		for name, code := range ills {
			t.Run(call+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					s, device := server()
					var armed atomic.Bool
					afflict(s, device(3), call, func() (nvml.Return, bool) {
						if !armed.CompareAndSwap(true, false) {
							return 0, false
						}
						if code == nvml.SUCCESS {
							time.Sleep(10 * time.Second)
						}
						return code, true
					})
					stock, _ := stocked(ctx, t, s)
					before, _ := stock.Devices()
					require.Len(t, before, 8)
					armed.Store(true)
					for range 40 {
						time.Sleep(700 * time.Millisecond)
						now, _ := stock.Devices()
						require.Equal(t, before, withLinks(now, before), "advertised while %s %s", call, name)
					}
					require.False(t, armed.Load(), "the call was never made")
					require.False(t, stock.Failing())
				})
			})
		}
	}
}

// withLinks leaves out which GPUs are linked: nobody is given another GPU's memory for that.
func withLinks(devices, from []gpu.Device) []gpu.Device {
	for i := range min(len(devices), len(from)) {
		devices[i].Links = from[i].Links
	}
	return devices
}

// TestALastingIllTakesGPUsOutAndBackIn makes each call ill for minutes: no GPU is invented or grows, none is
// forgotten, and all are healthy again a while after.
func TestALastingIllTakesGPUsOutAndBackIn(t *testing.T) {
	for _, call := range calls {
		for name, code := range ills {
			t.Run(call+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					s, device := server()
					var armed atomic.Bool
					afflict(s, device(3), call, func() (nvml.Return, bool) {
						if armed.Load() && code == nvml.SUCCESS {
							time.Sleep(10 * time.Second)
						}
						return code, armed.Load()
					})
					stock, _ := stocked(ctx, t, s)
					before, _ := stock.Devices()
					armed.Store(true)
					out := false
					for range 40 {
						time.Sleep(7 * time.Second)
						now, _ := stock.Devices()
						for i, d := range now {
							out = out || !d.Healthy
							require.Equal(t, before[i].UUID, d.UUID)
							require.Equal(t, before[i].Memory, d.Memory)
							require.Equal(t, before[i].Minor, d.Minor)
						}
					}
					told := strings.Contains("GetName GetMinorNumber GetPciInfo", call) && code != nvml.SUCCESS
					require.Equal(t, !told, out, "memory that can not be vouched for is not given away")
					armed.Store(false)
					time.Sleep(2 * time.Minute)
					now, _ := stock.Devices()
					require.Equal(t, before, withLinks(now, before))
				})
			})
		}
	}
}

func TestNonsenseIsNotAdvertised(t *testing.T) {
	for name, tc := range map[string]struct {
		say     func(s *dgxa100.Server, device *dgxa100.Device)
		healthy int
	}{
		"a GPU of 0 bytes":       {func(_ *dgxa100.Server, d *dgxa100.Device) { d.MemoryInfo.Total = 0 }, 7},
		"a GPU of 16 EiB":        {func(_ *dgxa100.Server, d *dgxa100.Device) { d.MemoryInfo.Total = ^uint64(0) }, 7},
		"a GPU of less than 1":   {func(_ *dgxa100.Server, d *dgxa100.Device) { d.MemoryInfo.Total = 1 << 20 }, 7},
		"another's UUID":         {func(s *dgxa100.Server, d *dgxa100.Device) { d.UUID = s.Devices[0].(*dgxa100.Device).UUID }, 7},
		"a UUID that is a path":  {func(_ *dgxa100.Server, d *dgxa100.Device) { d.UUID = "../../x y" }, 7},
		"an endless UUID":        {func(_ *dgxa100.Server, d *dgxa100.Device) { d.UUID = strings.Repeat("G", 4096) }, 7},
		"fewer GPUs":             {func(s *dgxa100.Server, _ *dgxa100.Device) { s.DeviceGetCountFunc = counts(5) }, 5},
		"no GPUs":                {func(s *dgxa100.Server, _ *dgxa100.Device) { s.DeviceGetCountFunc = counts(0) }, 0},
		"more GPUs than there":   {func(s *dgxa100.Server, _ *dgxa100.Device) { s.DeviceGetCountFunc = counts(9) }, 8},
		"a negative number":      {func(s *dgxa100.Server, _ *dgxa100.Device) { s.DeviceGetCountFunc = counts(-1) }, 0},
		"a name with line feeds": {func(_ *dgxa100.Server, d *dgxa100.Device) { d.Name = "A100\n\x00\xff" }, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s, device := server()
				stock, source := stocked(ctx, t, s)
				before, _ := stock.Devices()
				source.Lock()
				tc.say(s, device(3))
				source.Unlock()
				time.Sleep(5 * time.Minute)
				now, _ := stock.Devices()
				healthy := 0
				for i, d := range now[:8] {
					require.Equal(t, before[i].Memory, d.Memory)
					if d.Healthy {
						healthy++
					}
				}
				require.Equal(t, tc.healthy, healthy)
				require.Len(t, now, 8, "nobody was invented")
			})
		})
	}
}

func counts(n int) func() (int, nvml.Return) {
	return func() (int, nvml.Return) { return n, nvml.SUCCESS }
}

func TestAGPUThatIsPluggedInIsAdvertised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s, _ := server()
		var plugged atomic.Int32
		plugged.Store(7)
		s.DeviceGetCountFunc = func() (int, nvml.Return) { return int(plugged.Load()), nvml.SUCCESS }
		stock, _ := stocked(ctx, t, s)
		before, changed := stock.Devices()
		require.Len(t, before, 7)
		plugged.Store(8)
		time.Sleep(11 * time.Second)
		<-changed
		now, _ := stock.Devices()
		require.Len(t, now, 8)
	})
}
