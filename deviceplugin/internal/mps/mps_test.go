package mps_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/mps"
	"github.com/trellis-gpu/trellis/growth"
)

// fakeDaemon behaves like nvidia-cuda-mps-control in the foreground: it creates its control pipe, records its
// environment, and runs until it is stopped.
const fakeDaemon = `#!/bin/sh
[ "$1" = -f ] || exit 64
echo "$$ $CUDA_VISIBLE_DEVICES $CUDA_MPS_LOG_DIRECTORY" >> "$CUDA_MPS_PIPE_DIRECTORY/../starts"
mkfifo "$CUDA_MPS_PIPE_DIRECTORY/control"
trap 'exit 0' TERM
while :; do sleep 1 & wait $!; done
`

func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nvidia-cuda-mps-control")
	require.NoError(t, os.WriteFile(path, []byte(script), 0o700))
	return path
}

type list []gpu.Device

func (l list) Devices(context.Context) ([]gpu.Device, error) { return l, nil }

// runSupervisor supervises two GPUs and a MIG instance.
func runSupervisor(t *testing.T, script string) (*gpu.Inventory, string) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	state := t.TempDir()
	f := &mps.Supervisor{Program: program(t, script), StateDir: state, Log: log}
	ctx, cancel := context.WithCancel(context.Background())
	inventory, err := gpu.Open(ctx, list{
		{UUID: "GPU-a", Memory: 1024, Healthy: true}, {UUID: "GPU-b", Memory: 1024, Healthy: true},
		{
			UUID:     "MIG-1",
			Memory:   1024,
			Healthy:  true,
			Instance: &gpu.Instance{Parent: "GPU-c"},
		},
	}, 1024, log, f)
	require.NoError(t, err)
	done := make(chan struct{}, 2)
	go func() {
		_ = inventory.Run(ctx, time.Hour, time.Hour)
		done <- struct{}{}
	}()
	go func() {
		_ = f.Run(ctx, inventory)
		done <- struct{}{}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		<-done
	})
	return inventory, state
}

func awaitDevices(t *testing.T, inventory *gpu.Inventory, ok func([]gpu.Device) bool) []gpu.Device {
	t.Helper()
	for {
		devices, changed := inventory.Devices()
		if ok(devices) {
			return devices
		}
		select {
		case <-changed:
		case <-time.After(20 * time.Second):
			t.Fatalf("the GPUs stayed %+v", devices)
		}
	}
}

// startedPIDs returns the processes started for a GPU.
func startedPIDs(t *testing.T, state string, gpu growth.GPU) []int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(mps.PipeDir(state, gpu), "..", "starts"))
	require.NoError(t, err)
	var pids []int
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(line)
		require.Equal(t, string(gpu), words[1], "it sees only its GPU")
		require.NotEmpty(t, words[2])
		pid, err := strconv.Atoi(words[0])
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

func TestSupervisor_RestartsDaemon(t *testing.T) {
	inventory, state := runSupervisor(t, fakeDaemon)
	devices := awaitDevices(t, inventory, func(d []gpu.Device) bool { return d[0].Healthy && d[1].Healthy })
	require.True(t, devices[2].Healthy, "a MIG instance needs no daemon")
	info, err := os.Stat(mps.ShmDir(state))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o777), info.Mode().Perm())

	first := startedPIDs(t, state, "GPU-a")
	require.Len(t, first, 1)
	_, changed := inventory.Devices()
	require.NoError(t, syscall.Kill(first[0], syscall.SIGKILL))
	<-changed
	awaitDevices(t, inventory, func(d []gpu.Device) bool { return d[0].Healthy })
	require.Len(t, startedPIDs(t, state, "GPU-a"), 2)
	require.Len(t, startedPIDs(t, state, "GPU-b"), 1, "the other GPU's daemon was not restarted")
}

func TestSupervisor_ReportsFailedDaemon(t *testing.T) {
	inventory, _ := runSupervisor(t, "#!/bin/sh\nexit 3\n")
	devices := awaitDevices(t, inventory,
		func(d []gpu.Device) bool { return strings.Contains(d[0].Reason, "exit status 3") })
	require.False(t, devices[0].Healthy)
	require.Contains(t, devices[0].Reason, "CUDA contexts of its jobs are lost")
	require.True(t, devices[2].Healthy)
}

func TestDaemon_NamesMissingProgram(t *testing.T) {
	d := &mps.Daemon{
		GPU:     "GPU-a",
		Program: "/none/nvidia-cuda-mps-control",
		Dir:     t.TempDir(),
		Log:     slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(t.Context())
	d.Changed = func() {
		if _, reason := d.State(); strings.Contains(reason, "is the MPS package") {
			cancel()
		}
	}
	require.NoError(t, d.Run(ctx))
	require.Error(t, ctx.Err())
}

func TestSupervisor_StopsDaemons(t *testing.T) {
	var pid int
	t.Run("while it runs", func(t *testing.T) {
		inventory, state := runSupervisor(t, fakeDaemon)
		awaitDevices(t, inventory, func(d []gpu.Device) bool { return d[0].Healthy })
		pid = startedPIDs(t, state, "GPU-a")[0]
	})
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	require.ErrorIs(t, err, os.ErrNotExist)
}
