package gpu_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

func TestEmulated_StableUUIDs(t *testing.T) {
	e, ok, err := gpu.ParseEmulated("emulated:2x24GiB", "node-1")
	require.NoError(t, err)
	require.True(t, ok)
	devices, err := e.Devices(t.Context())
	require.NoError(t, err)
	require.Len(t, devices, 2)
	require.NoError(t, gpu.Validate(devices, growth.GiB))
	require.NotEqual(t, devices[0].UUID, devices[1].UUID)
	require.Equal(t, 24*growth.GiB, devices[0].Memory)
	require.Equal(t, growth.GPU("EMU-2cac81b6-af3a-565c-59e4-84056ee909eb"), devices[0].UUID,
		"a change would lose every allocation")

	e.Node = "node-2"
	others, err := e.Devices(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, devices[0].UUID, others[0].UUID)
}

func TestParseEmulated_RejectsIncompleteValues(t *testing.T) {
	_, ok, err := gpu.ParseEmulated("nvml", "n")
	require.False(t, ok)
	require.NoError(t, err)
	for _, invalid := range []string{"emulated:", "emulated:2", "emulated:0x8Gi", "emulated:65x8Gi", "emulated:-1x8Gi",
		"emulated:2x", "emulated:2xlots", "emulated:2x0", "emulated:2x8Gi@numa=", "emulated:2x8Gi@numa=0",
		"emulated:2x8Gi@numa=0,1,1", "emulated:2x8Gi@numa=0,-1", "emulated:2x8Gi@numa=0,1024", "emulated:2x8Gi@0,1",
		"emulated:2x8Gi,computes", "emulated:2x8Gi@numa=0,1,compute", "emulated:2x8Gi/", "emulated:2x8Gi/n", "emulated:2x8Gi/=1x8Gi",
		"emulated:2x8Gi/other=0x8Gi"} {
		_, ok, err := gpu.ParseEmulated(invalid, "n")
		require.True(t, ok)
		require.Error(t, err, invalid)
	}
}

func TestEmulated_NUMANodes(t *testing.T) {
	for value, want := range map[string][]int{
		"emulated:2x24GiB":              {-1, -1},
		"emulated:2x24GiB@numa=0,1":     {0, 1},
		"emulated:4x24GiB@numa=1,1,0,0": {1, 1, 0, 0},
	} {
		e, _, err := gpu.ParseEmulated(value, "node-1")
		require.NoError(t, err, value)
		devices, err := e.Devices(t.Context())
		require.NoError(t, err)
		var nodes []int
		for _, d := range devices {
			nodes = append(nodes, d.NUMA)
		}
		require.Equal(t, want, nodes, value)
	}
}

func TestParseEmulated_NodesMayDiffer(t *testing.T) {
	const value = "emulated:2x24GiB/node-2=1x16GiB,compute/node-3=3x8GiB,compute@numa=0,0,1"
	for node, want := range map[growth.NodeName]gpu.Emulated{
		"node-1": {Node: "node-1", Count: 2, Memory: 24 * growth.GiB},
		"node-2": {Node: "node-2", Count: 1, Memory: 16 * growth.GiB, Computes: true},
		"node-3": {Node: "node-3", Count: 3, Memory: 8 * growth.GiB, Computes: true, NUMA: []int{0, 0, 1}},
	} {
		e, ok, err := gpu.ParseEmulated(value, node)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, e)
	}
}

func TestEmulated_GPUsThatComputeOwnCores(t *testing.T) {
	e, err := gpu.Emulated{Count: 2, Memory: growth.GiB, Computes: true}.Own([]int{3, 5, 7})
	require.NoError(t, err)
	devices, err := e.Devices(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{3, 5}, []int{*devices[0].Core, *devices[1].Core})

	_, err = gpu.Emulated{Count: 2, Memory: growth.GiB, Computes: true}.Own([]int{3})
	require.ErrorContains(t, err, "2 emulated GPUs that compute need a core each, and this node has 1")

	e, err = gpu.Emulated{Count: 2, Memory: growth.GiB}.Own([]int{3})
	require.NoError(t, err, "others need none")
	devices, err = e.Devices(t.Context())
	require.NoError(t, err)
	require.Nil(t, devices[0].Core)
}

func TestMerge_KeepsKnownGPUs(t *testing.T) {
	a := gpu.Device{
		UUID:    "A",
		Model:   "m",
		Memory:  1024,
		Healthy: true,
	}
	b := gpu.Device{
		UUID:    "B",
		Model:   "m",
		Memory:  2048,
		Healthy: true,
	}
	for name, tc := range map[string]struct{ known, now, want []gpu.Device }{
		"no change": {[]gpu.Device{a, b}, []gpu.Device{a, b}, []gpu.Device{a, b}},
		"another order": {
			[]gpu.Device{a, b}, []gpu.Device{b, a}, []gpu.Device{a, b},
		},
		"a GPU is gone": {
			[]gpu.Device{a, b}, []gpu.Device{b},
			[]gpu.Device{{
				UUID:   "A",
				Model:  "m",
				Memory: 1024,
				Reason: "the driver no longer lists it",
				Absent: true,
			}, b},
		},
		"a GPU cannot be read": {
			[]gpu.Device{a}, []gpu.Device{{UUID: "A", Reason: "lost"}},
			[]gpu.Device{{
				UUID:   "A",
				Model:  "m",
				Memory: 1024,
				Reason: "lost",
			}},
		},
		"a GPU comes back": {[]gpu.Device{{
			UUID:   "A",
			Memory: 1024,
			Reason: "lost",
		}}, []gpu.Device{a}, []gpu.Device{a}},
		"a GPU is added": {[]gpu.Device{a}, []gpu.Device{a, b}, []gpu.Device{a, b}},
		"a GPU whose size was never known is ignored": {nil, []gpu.Device{a, {UUID: "C"}}, []gpu.Device{a}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, gpu.Merge(tc.known, tc.now)) })
	}
}

// fakeSource returns fixed devices or an error.
type fakeSource struct {
	devices []gpu.Device
	err     error
}

func (s *fakeSource) Devices(context.Context) ([]gpu.Device, error) { return s.devices, s.err }

func TestInventory_KeepsLastListOnFailure(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	s := &fakeSource{devices: []gpu.Device{{UUID: "A", Memory: 4096, Healthy: true}}}
	inventory, err := gpu.Open(t.Context(), s, growth.GiB, log)
	require.NoError(t, err)
	before, changed := inventory.Devices()
	require.Len(t, before, 1)

	s.err = errors.New("NVML hangs")
	inventory.Refresh(t.Context())
	require.True(t, inventory.Failing())
	after, _ := inventory.Devices()
	require.Equal(t, before, after, "a transient error must not take GPUs away")

	s.err = nil
	s.devices = []gpu.Device{{UUID: "A", Memory: 4096, Healthy: true}, {UUID: "A", Memory: 4096, Healthy: true}}
	inventory.Refresh(t.Context())
	after, _ = inventory.Devices()
	require.Equal(t, before, after, "an invalid list must not take GPUs away")
	select {
	case <-changed:
		t.Fatal("a change was reported although nothing changed")
	default:
	}

	s.devices = nil
	inventory.Refresh(t.Context())
	require.False(t, inventory.Failing())
	<-changed
	after, _ = inventory.Devices()
	require.Len(t, after, 1)
	require.False(t, after[0].Healthy)
}

func TestOpen_ExplainsInvalidInventory(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	_, err := gpu.Open(t.Context(), &fakeSource{}, growth.GiB, log)
	require.ErrorContains(t, err, "no GPU")
	_, err = gpu.Open(t.Context(), &fakeSource{err: errors.New("driver")}, growth.GiB, log)
	require.ErrorContains(t, err, "driver")
	_, err = gpu.Open(t.Context(), &fakeSource{devices: []gpu.Device{{UUID: "A", Memory: 512}}}, growth.GiB, log)
	require.ErrorContains(t, err, "--memory-unit")
}

func FuzzParseEmulated(f *testing.F) {
	f.Add("emulated:2x24GiB")
	f.Add("emulated:1x1")
	f.Add("emulated:1x1,compute@numa=0/n=2x2,compute/m=1x1")
	f.Fuzz(func(t *testing.T, value string) {
		e, ok, err := gpu.ParseEmulated(value, "n")
		if ok && err == nil {
			devices, err := e.Devices(t.Context())
			require.NoError(t, err)
			require.Len(t, devices, e.Count)
		}
	})
}
