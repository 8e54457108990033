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

// standIn behaves like nvidia-cuda-mps-control in the foreground, as far as a supervisor sees: it makes its control
// pipe, writes down what it was told, and lives until it is stopped.
const standIn = `#!/bin/sh
[ "$1" = -f ] || exit 64
echo "$$ $CUDA_VISIBLE_DEVICES $CUDA_MPS_LOG_DIRECTORY" >> "$CUDA_MPS_PIPE_DIRECTORY/../lives"
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

// fleet runs daemons for two GPUs and a MIG instance.
func fleet(t *testing.T, script string) (*gpu.Stock, string) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	state := t.TempDir()
	f := &mps.Fleet{Program: program(t, script), StateDir: state, Log: log}
	ctx, cancel := context.WithCancel(context.Background())
	stock, err := gpu.Open(ctx, list{
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
		_ = stock.Run(ctx, time.Hour, time.Hour)
		done <- struct{}{}
	}()
	go func() {
		_ = f.Run(ctx, stock)
		done <- struct{}{}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		<-done
	})
	return stock, state
}

func until(t *testing.T, stock *gpu.Stock, ok func([]gpu.Device) bool) []gpu.Device {
	t.Helper()
	for {
		devices, changed := stock.Devices()
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

// lives lists the processes that a GPU's daemon has had.
func lives(t *testing.T, state string, gpu growth.GPU) []int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(mps.PipeDir(state, gpu), "..", "lives"))
	require.NoError(t, err)
	var pids []int
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(line)
		require.Equal(t, string(gpu), words[1], "it sees its GPU alone")
		require.NotEmpty(t, words[2])
		pid, err := strconv.Atoi(words[0])
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

func TestADaemonThatDiesIsStartedAgain(t *testing.T) {
	stock, state := fleet(t, standIn)
	devices := until(t, stock, func(d []gpu.Device) bool { return d[0].Healthy && d[1].Healthy })
	require.True(t, devices[2].Healthy, "a MIG instance needs no daemon")
	info, err := os.Stat(mps.ShmDir(state))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o777), info.Mode().Perm())

	first := lives(t, state, "GPU-a")
	require.Len(t, first, 1)
	_, changed := stock.Devices()
	require.NoError(t, syscall.Kill(first[0], syscall.SIGKILL))
	<-changed
	until(t, stock, func(d []gpu.Device) bool { return d[0].Healthy })
	require.Len(t, lives(t, state, "GPU-a"), 2)
	require.Len(t, lives(t, state, "GPU-b"), 1, "the neighbour's was left alone")
}

func TestAGPUWithoutItsDaemonSaysWhatIsLost(t *testing.T) {
	stock, _ := fleet(t, "#!/bin/sh\nexit 3\n")
	devices := until(t, stock, func(d []gpu.Device) bool { return strings.Contains(d[0].Reason, "exit status 3") })
	require.False(t, devices[0].Healthy)
	require.Contains(t, devices[0].Reason, "CUDA contexts of its jobs are lost")
	require.True(t, devices[2].Healthy)
}

func TestAProgramThatIsNotThereIsNamed(t *testing.T) {
	d := &mps.Daemon{
		GPU:     "GPU-a",
		Program: "/none/nvidia-cuda-mps-control",
		Dir:     t.TempDir(),
		Log:     slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(t.Context())
	d.Changed = func() {
		if _, why := d.State(); strings.Contains(why, "is the MPS package") {
			cancel()
		}
	}
	require.NoError(t, d.Run(ctx))
	require.Error(t, ctx.Err())
}

func TestEndingEndsTheDaemons(t *testing.T) {
	var pid int
	t.Run("while it runs", func(t *testing.T) {
		stock, state := fleet(t, standIn)
		until(t, stock, func(d []gpu.Device) bool { return d[0].Healthy })
		pid = lives(t, state, "GPU-a")[0]
	})
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	require.ErrorIs(t, err, os.ErrNotExist)
}
