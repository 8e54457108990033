package plugin_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/plugin"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
)

// shelf is an inventory of two real GPUs of 4 and 3 units.
type shelf struct{}

func (shelf) Devices() ([]gpu.Device, <-chan struct{}) {
	return []gpu.Device{{UUID: "GPU-a", Memory: 4500, Healthy: true}, {UUID: "GPU-b", Memory: 3072}}, nil
}

// crowd is a ledger that knows what it is told.
type crowd struct {
	demands  []slice.Demand
	informed bool
}

func (c crowd) Expect(context.Context, int) []slice.Demand { return c.demands }
func (c crowd) Informed() bool                             { return c.informed }
func (crowd) Claim([]string, []slice.Part)                 {}
func (crowd) Observe(context.Context, []string)            {}

func server(t testing.TB, c crowd) *plugin.Server {
	slots, err := slot.Open(t.TempDir())
	require.NoError(t, err)
	return &plugin.Server{
		Unit: growth.GiB, Inventory: shelf{}, Ledger: c, Slots: slots,
		Metrics: plugin.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
	}
}

func allocate(s *plugin.Server, ids ...string) (*deviceplugin.AllocateResponse, error) {
	return s.Allocate(context.Background(), &deviceplugin.AllocateRequest{
		ContainerRequests: []*deviceplugin.ContainerAllocateRequest{{DevicesIds: ids}},
	})
}

func TestRealGPUsAreNamedToTheContainer(t *testing.T) {
	reply, err := allocate(server(t, crowd{}), "GPU-a/3", "GPU-a/0")
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"NVIDIA_VISIBLE_DEVICES": "GPU-a", "GPUSHARE_GPU_UUIDS": "GPU-a", "GPUSHARE_GPU_MEM_MIB": "2048",
		"CUDA_DEVICE_MEMORY_LIMIT_0": "2048m", "ALIYUN_COM_GPU_MEM_CONTAINER": "2", "ALIYUN_COM_GPU_MEM_DEV": "4",
		"GPUSHARE_GPU_MEM_FRACTION": "0.4551", "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.4551", "TF_FORCE_GPU_ALLOW_GROWTH": "true",
		"PYTHONPATH": "/run/gpushare",
	}, reply.GetContainerResponses()[0].GetEnvs())
}

func TestWhatWasNeverAdvertisedIsRefused(t *testing.T) {
	for ids, words := range map[string]string{
		"":                "no device at all",
		"GPU-c/0":         "no GPU GPU-c",
		"GPU-a/4":         "beyond the memory",
		"GPU-a/0 GPU-a/0": "twice",
		"rubbish":         "rubbish",
	} {
		_, err := allocate(server(t, crowd{}), strings.Fields(ids)...)
		require.ErrorContains(t, err, words, ids)
	}
}

func TestOnSeveralGPUs(t *testing.T) {
	asks := []slice.Demand{{Units: 4, Count: 2}}
	for name, tc := range map[string]struct {
		crowd   crowd
		ids     string
		refused bool
	}{
		"somebody asks for two":                 {crowd{asks, true}, "GPU-a/0 GPU-a/1 GPU-b/0 GPU-b/1", false},
		"but not for an uneven spread":          {crowd{asks, true}, "GPU-a/0 GPU-a/1 GPU-a/2 GPU-b/1", true},
		"nobody does":                           {crowd{nil, true}, "GPU-a/0 GPU-b/0", true},
		"nobody is known: an even one is good":  {crowd{nil, false}, "GPU-a/0 GPU-b/0", false},
		"nobody is known: an uneven one is not": {crowd{nil, false}, "GPU-a/0 GPU-a/1 GPU-b/0", true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := allocate(server(t, tc.crowd), strings.Fields(tc.ids)...)
			require.Equal(t, tc.refused, err != nil, "%v", err)
		})
	}
}

func TestWhatWasHandedOutBeforeIsHandedOutAgain(t *testing.T) {
	s := server(t, crowd{})
	_, err := allocate(s, "GPU-a/0", "GPU-b/0")
	require.NoError(t, err, "at boot nobody is known")
	s.Ledger = crowd{informed: true}
	_, err = allocate(s, "GPU-b/0", "GPU-a/0")
	require.NoError(t, err)
}

func FuzzAllocate(f *testing.F) {
	s := server(f, crowd{})
	f.Add("GPU-a/0 GPU-a/1")
	f.Add("GPU-a/0 GPU-b/0 GPU-b/0 ../.. /")
	f.Fuzz(func(t *testing.T, words string) {
		ids := strings.Fields(words)
		reply, err := allocate(s, ids...)
		if err != nil {
			return
		}
		parts, err := slice.Spread(ids)
		require.NoError(t, err, "an answer for ids that make no sense")
		require.True(t, slice.Even(parts))
		require.Len(t, reply.GetContainerResponses(), 1)
	})
}
