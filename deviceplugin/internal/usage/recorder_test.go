package usage

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpuuse"
)

const podA = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"

// fakeSampler has one process on GPU-a that is busy half of the time, with one sample a second.
type fakeSampler struct {
	now uint64 // in seconds
	err error
}

func (f *fakeSampler) Utilization(_ context.Context, since map[growth.GPU]uint64) ([]gpu.Utilization, error) {
	u := gpu.Utilization{Device: "GPU-a"}
	for at := max(since["GPU-a"]/1e6, f.now-2) + 1; at <= f.now; at++ {
		u.Samples = append(u.Samples, gpuuse.Sample{PID: 10, At: at * 1e6, Percent: 50})
	}
	return []gpu.Utilization{u, {Device: "GPU-b"}}, f.err
}

func TestRecorder(t *testing.T) {
	proc := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(proc, "10"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(proc, "10", "cgroup"), []byte("0::/kubepods/pod"+podA+"/9f86"), 0o600))
	allocations := map[growth.PodUID]bus.Allocation{podA: {}}
	driver := &fakeSampler{now: 100}
	r := &Recorder{
		Driver:      driver,
		Proc:        Proc(proc),
		StateDir:    t.TempDir(),
		Allocations: func() map[growth.PodUID]bus.Allocation { return allocations },
		Uses: func() []Use {
			return []Use{
				{Key: Key{podA, "GPU-a"}, Memory: 3000, Processes: 1},
				{Key: Key{podA, "MIG-c"}, Memory: 500, Processes: 1},
				{Key: Key{podA, "GPU-d"}, Memory: -1, Processes: 1},
				{Key: Key{"imported", "GPU-a"}, Memory: 700, Processes: 1},
			}
		},
		Log: slog.New(slog.DiscardHandler),
	}
	var memory []gpuuse.Memory
	record := func(uptime growth.Seconds) []gpuuse.GPU {
		require.NoError(t, r.measure(t.Context(), uptime))
		content, err := os.ReadFile(filepath.Join(r.StateDir, gpuuse.FileName))
		require.NoError(t, err)
		got, err := gpuuse.Decode(content, uptime)
		require.NoError(t, err)
		memory = got.Memory
		return got.GPUs
	}
	measured := func(busy growth.Seconds) []gpuuse.GPU {
		return []gpuuse.GPU{{UUID: "GPU-a", Uses: []gpuuse.Use{{Pod: podA, Busy: busy, Processes: 1}}}, {UUID: "GPU-b"}}
	}
	require.Equal(t, measured(0), record(50), "what the driver remembers is older than the record")
	require.Equal(t, []gpuuse.Memory{{GPU: "GPU-a", Pod: podA, Used: 3000}, {GPU: "MIG-c", Pod: podA, Used: 500}}, memory,
		"of pods with an allocation, where it is known; also of MIG instances, whose time is not measured")
	driver.now += 2
	require.Equal(t, measured(1), record(52))
	driver.now += 2
	require.Equal(t, measured(2), record(54))
	require.Equal(t, measured(2), record(56), "no new samples")

	driver.err = errors.New("the driver is gone")
	require.Error(t, r.measure(t.Context(), 58), "the last record becomes too old")
	driver.err = nil
	delete(allocations, podA)
	require.Equal(t, []gpuuse.GPU{{UUID: "GPU-a"}, {UUID: "GPU-b"}}, record(60))
	require.Empty(t, memory)
}
