package plugin_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/plugin"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
)

// twoGPUs is an inventory of two real GPUs with 4 and 3 units.
type twoGPUs struct{}

func (twoGPUs) Devices() ([]gpu.Device, <-chan struct{}) {
	return []gpu.Device{{UUID: "GPU-a", Memory: 4500, Healthy: true}, {UUID: "GPU-b", Memory: 3072}}, nil
}

// fakeAllocations is an Allocations with fixed results.
type fakeAllocations struct {
	demands  []slice.Demand
	synced   bool
	imported slice.Withheld
	inUse    []string
	holdings []slice.Holding
}

func (c fakeAllocations) AwaitDemand(context.Context, int) []slice.Demand { return c.demands }
func (c fakeAllocations) Synced() bool                                    { return c.synced }
func (fakeAllocations) Claim([]string, []slice.Part)                      {}
func (fakeAllocations) BeginAllocate(context.Context)                     {}
func (fakeAllocations) EndAllocate()                                      {}
func (c fakeAllocations) InUse(_ context.Context, ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !slices.Contains(c.inUse, id) })
}
func (c fakeAllocations) Holdings() []slice.Holding        { return c.holdings }
func (c fakeAllocations) ImportedUnits() slice.Withheld    { return c.imported }
func (fakeAllocations) AwaitImports(context.Context) error { return nil }
func (fakeAllocations) Observe(context.Context, []string)  {}

func server(t testing.TB, c fakeAllocations) *plugin.Server {
	slots, err := slot.Open(t.TempDir())
	require.NoError(t, err)
	return &plugin.Server{
		Unit:        growth.GiB,
		Inventory:   twoGPUs{},
		Allocations: c,
		Slots:       slots,
		Metrics:     plugin.NewMetrics(prometheus.NewRegistry()),
		Log:         slog.New(slog.DiscardHandler),
	}
}

func allocate(s *plugin.Server, ids ...string) (*pluginapi.AllocateResponse, error) {
	return s.Allocate(context.Background(), &pluginapi.AllocateRequest{
		ContainerRequests: []*pluginapi.ContainerAllocateRequest{{DevicesIds: ids}},
	})
}

func TestAllocate_SetsGPUEnvironment(t *testing.T) {
	reply, err := allocate(server(t, fakeAllocations{}), "GPU-a/3", "GPU-a/0")
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"NVIDIA_VISIBLE_DEVICES": "GPU-a", "GPUSHARE_GPU_UUIDS": "GPU-a", "GPUSHARE_GPU_MEM_MIB": "2048",
		"CUDA_DEVICE_MEMORY_LIMIT_0": "2048m", "ALIYUN_COM_GPU_MEM_CONTAINER": "2", "ALIYUN_COM_GPU_MEM_DEV": "4",
		"GPUSHARE_GPU_MEM_FRACTION": "0.4551", "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.4551",
		"TF_FORCE_GPU_ALLOW_GROWTH": "true",
		"PYTHONPATH":                "/run/gpushare",
	}, reply.GetContainerResponses()[0].GetEnvs())
}

func TestAllocate_RejectsUnadvertisedIDs(t *testing.T) {
	for ids, words := range map[string]string{
		"":                "requested no devices",
		"GPU-c/0":         "no GPU GPU-c",
		"GPU-a/4":         "beyond the memory",
		"GPU-a/0 GPU-a/0": "twice",
		"rubbish":         "rubbish",
	} {
		_, err := allocate(server(t, fakeAllocations{}), strings.Fields(ids)...)
		require.ErrorContains(t, err, words, ids)
	}
}

func TestAllocate_SeveralGPUs(t *testing.T) {
	asks := []slice.Demand{{Units: 4, Count: 2}}
	for name, tc := range map[string]struct {
		allocations fakeAllocations
		ids         string
		rejected    bool
	}{
		"a pod requests two GPUs": {fakeAllocations{
			demands: asks,
			synced:  true,
		}, "GPU-a/0 GPU-a/1 GPU-b/0 GPU-b/1", false},
		"an uneven spread is rejected": {fakeAllocations{
			demands: asks,
			synced:  true,
		}, "GPU-a/0 GPU-a/1 GPU-a/2 GPU-b/1", true},
		"no pod requests two GPUs":          {fakeAllocations{synced: true}, "GPU-a/0 GPU-b/0", true},
		"unknown pods and an even spread":   {fakeAllocations{}, "GPU-a/0 GPU-b/0", false},
		"unknown pods and an uneven spread": {fakeAllocations{}, "GPU-a/0 GPU-a/1 GPU-b/0", true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := allocate(server(t, tc.allocations), strings.Fields(tc.ids)...)
			require.Equal(t, tc.rejected, err != nil, "%v", err)
		})
	}
}

func TestAllocate_RejectsImportedMemory(t *testing.T) {
	s := server(t, fakeAllocations{})
	_, err := allocate(s, "GPU-a/3")
	require.NoError(t, err, "the import is not known yet")
	s.Allocations = fakeAllocations{imported: slice.Withheld{"GPU-a": 3}}
	_, err = allocate(s, "GPU-a/0")
	require.NoError(t, err)
	_, err = allocate(s, "GPU-a/0", "GPU-a/1")
	require.ErrorContains(t, err, "pods that another device plugin started hold 3GiB of GPU GPU-a")
	_, err = allocate(s, "GPU-b/2")
	require.NoError(t, err, "another GPU")
	_, err = allocate(s, "GPU-a/3")
	require.NoError(t, err, "an earlier allocation stays valid")
}

func TestAllocate_AcceptsEarlierAllocation(t *testing.T) {
	s := server(t, fakeAllocations{})
	_, err := allocate(s, "GPU-a/0", "GPU-b/0")
	require.NoError(t, err, "no pod is known after a boot")
	s.Allocations = fakeAllocations{synced: true}
	_, err = allocate(s, "GPU-b/0", "GPU-a/0")
	require.NoError(t, err)
}

func TestAllocate_CDI(t *testing.T) {
	s := server(t, fakeAllocations{demands: []slice.Demand{{Units: 2, Count: 2}}, synced: true})
	s.CDI = true
	reply, err := allocate(s, "GPU-a/0", "GPU-b/0")
	require.NoError(t, err)
	c := reply.GetContainerResponses()[0]
	require.Equal(t, "void", c.GetEnvs()["NVIDIA_VISIBLE_DEVICES"], "the runtime hook must not add them again")
	require.Equal(t, "gpushare/gpu=GPU-a", c.GetCdiDevices()[0].GetName())
	require.Equal(t, "gpushare/gpu=GPU-b", c.GetCdiDevices()[1].GetName())
	require.Equal(t, "0.2275,0.3333", c.GetEnvs()["GPUSHARE_GPU_MEM_FRACTION"])
	require.Equal(t, "0.2275", c.GetEnvs()["XLA_PYTHON_CLIENT_MEM_FRACTION"],
		"the smaller fraction: JAX has one value for all GPUs")
}

func TestAllocate_MPSLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		demands []slice.Demand
		percent string
	}{
		"the pod's limit": {[]slice.Demand{{Units: 2, Count: 1, Cores: 40}}, "40"},
		"all requests of this size have the same limit": {[]slice.Demand{{
			Units: 2,
			Count: 1,
			Cores: 40,
		}, {
			Units: 2,
			Count: 1,
			Cores: 40,
		}, {
			Units: 1,
			Count: 1,
			Cores: 9,
		}}, "40"},
		"requests with different limits get none": {[]slice.Demand{{
			Units: 2,
			Count: 1,
			Cores: 40,
		}, {
			Units: 2,
			Count: 1,
			Cores: 50,
		}}, ""},
		"one of the requests has no limit": {[]slice.Demand{{
			Units: 2,
			Count: 1,
			Cores: 40,
		}, {
			Units: 2,
			Count: 1,
		}}, ""},
		"no pod is known after a reboot": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t, fakeAllocations{demands: tc.demands, synced: true})
			s.MPS = "/state"
			reply, err := allocate(s, "GPU-a/0", "GPU-a/1")
			require.NoError(t, err)
			c := reply.GetContainerResponses()[0]
			require.Equal(t, "0=2048M", c.GetEnvs()["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"])
			require.Equal(t, tc.percent, c.GetEnvs()["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"])
			require.Equal(t, "/run/gpushare-mps", c.GetEnvs()["CUDA_MPS_PIPE_DIRECTORY"])
			require.Equal(t, "/state/mps/GPU-a/pipe", c.GetMounts()[1].GetHostPath())
			require.Equal(t, "/dev/shm", c.GetMounts()[2].GetContainerPath())
		})
	}
	s := server(t, fakeAllocations{demands: []slice.Demand{{Units: 2, Count: 2}}, synced: true})
	s.MPS = "/state"
	_, err := allocate(s, "GPU-a/0", "GPU-b/0")
	require.ErrorContains(t, err, "--sharing=timeslice")
}

func TestAllocate_MPSThreadsByShare(t *testing.T) {
	for name, tc := range map[string]struct {
		cores   int
		mps     string
		percent string
	}{
		"a job that asks for no percentage": {0, "/state", "67"},
		"a job that does":                   {40, "/state", "40"},
		"without MPS":                       {0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t, fakeAllocations{demands: []slice.Demand{{Units: 2, Count: 1, Cores: tc.cores}}, synced: true})
			s.MPS = tc.mps
			s.Threads = func(gpu growth.GPU) int {
				require.Equal(t, growth.GPU("GPU-a"), gpu)
				return 67
			}
			reply, err := allocate(s, "GPU-a/0", "GPU-a/1")
			require.NoError(t, err)
			require.Equal(t, tc.percent, reply.GetContainerResponses()[0].GetEnvs()["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"])
		})
	}
}

func FuzzAllocate(f *testing.F) {
	s := server(f, fakeAllocations{})
	f.Add("GPU-a/0 GPU-a/1")
	f.Add("GPU-a/0 GPU-b/0 GPU-b/0 ../.. /")
	f.Fuzz(func(t *testing.T, words string) {
		ids := strings.Fields(words)
		reply, err := allocate(s, ids...)
		if err != nil {
			return
		}
		parts, err := slice.Spread(ids)
		require.NoError(t, err, "a response for invalid ids")
		require.True(t, slice.Even(parts))
		require.Len(t, reply.GetContainerResponses(), 1)
	})
}

// FuzzAllocateSequence plays kubelet. The script's bytes are request sizes, releases, ids that must be included, and
// whether kubelet follows the preference. No id may be allocated twice, and no GPU may exceed its capacity.
func FuzzAllocateSequence(f *testing.F) {
	f.Add([]byte{2, 0, 3, 0, 0x81, 1, 4, 0})
	f.Add([]byte{7, 1, 7, 1, 0xff, 0xff, 1, 0, 1, 0})
	capacity := map[string]int{"GPU-a": 4, "GPU-b": 3}
	f.Fuzz(func(t *testing.T, script []byte) {
		s := server(t, fakeAllocations{
			demands: []slice.Demand{{
				Pod:   "p",
				Units: 2,
				Count: 2,
			}, {
				Pod:   "q",
				Units: 3,
				Count: 1,
				GPUs:  []growth.GPU{"GPU-b"},
			}},
			synced: true,
		})
		held := map[string]int{} // the sequence number that holds an id
		for sequence := 0; sequence+1 < len(script) && sequence < 64; sequence += 2 {
			size := int(script[sequence])
			flags := script[sequence+1]
			if size >= 0x80 { // release an allocation
				maps.DeleteFunc(held, func(_ string, of int) bool { return of == 2*(size-0x80) })
				continue
			}
			var available []string
			for gpu, n := range capacity {
				for _, id := range slice.IDs(growth.GPU(gpu), n) {
					if _, taken := held[id]; !taken {
						available = append(available, id)
					}
				}
			}
			slices.Sort(available)
			must := available[:min(int(flags&3), len(available), size)]
			preferred, err := s.GetPreferredAllocation(t.Context(), &pluginapi.PreferredAllocationRequest{
				ContainerRequests: []*pluginapi.ContainerPreferredAllocationRequest{{
					AvailableDeviceIDs:   available,
					MustIncludeDeviceIDs: must,
					AllocationSize:       int32(size),
				}},
			})
			require.NoError(t, err)
			ids := preferred.GetContainerResponses()[0].GetDeviceIDs()
			require.Subset(t, available, ids, "an id that is in use")
			require.Len(t, ids, min(size, len(available)))
			if flags&4 != 0 { // kubelet may choose other ids
				ids = available[:min(size, len(available))]
			}
			reply, err := allocate(s, ids...)
			if err != nil {
				continue
			}
			for _, id := range ids {
				require.NotContains(t, held, id, "allocated twice")
				held[id] = sequence
			}
			named := strings.Split(reply.GetContainerResponses()[0].GetEnvs()["GPUSHARE_GPU_UUIDS"], ",")
			for _, id := range ids {
				require.Contains(t, named, strings.Split(id, "/")[0], "a GPU without any of the ids")
			}
		}
		units := map[string]int{}
		for id := range held {
			units[strings.Split(id, "/")[0]]++
		}
		for gpu, n := range units {
			require.LessOrEqual(t, n, capacity[gpu])
		}
	})
}
