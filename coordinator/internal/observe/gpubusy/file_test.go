package gpubusy

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpuuse"
	"github.com/trellis-gpu/trellis/growth/node"
)

func TestBusy(t *testing.T) {
	dir := t.TempDir()
	file := New(dir, slog.New(slog.DiscardHandler))
	require.Empty(t, file.Busy(), "no device plugin has written it")

	write := func(uptime growth.Seconds) {
		content, err := gpuuse.Encode(gpuuse.Record{
			Uptime: uptime,
			GPUs:   []gpuuse.GPU{{UUID: "GPU-a", Uses: []gpuuse.Use{{Pod: "a", Busy: 12, Processes: 2}}}, {UUID: "GPU-b"}},
			Memory: []gpuuse.Memory{{GPU: "GPU-a", Pod: "a", Used: 900}, {GPU: "GPU-b", Pod: "a", Used: 700}},
		})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, gpuuse.FileName), content, 0o600))
	}
	now := Uptime()
	write(now)
	require.Equal(t, node.GPUBusy{
		At: now,
		GPUs: map[growth.GPU]map[growth.PodUID]node.BusyTime{
			"GPU-a": {"a": {Kernels: 12, Processes: 2}},
			"GPU-b": {},
		},
		Memory: map[growth.PodUID]growth.MiB{"a": 900},
	}, file.Busy())

	write(now - 60)
	require.Empty(t, file.Busy(), "the device plugin has not written it for a minute")
	require.NoError(t, os.WriteFile(filepath.Join(dir, gpuuse.FileName), []byte("{"), 0o600))
	require.Empty(t, file.Busy())
	write(Uptime())
	require.NotEmpty(t, file.Busy(), "it continues")
}
