//go:build cgo

package nvml

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

// The contract with a real driver, on machines that have one.
func TestProcesses_OfARealDriver(t *testing.T) {
	if _, err := os.Stat("/dev/nvidiactl"); err != nil {
		t.Skip("this machine has no NVIDIA driver")
	}
	driver, err := Open()
	require.NoError(t, err)
	defer driver.Close()
	devices, err := driver.Devices(t.Context())
	require.NoError(t, err)
	memory := map[growth.GPU]growth.MiB{}
	for _, d := range devices {
		memory[d.UUID] = d.Memory
	}
	processes, err := driver.Processes(t.Context())
	require.NoError(t, err)
	if len(processes) == 0 {
		t.Skip("the driver lists no process: none computes, or it hides those outside this container")
	}
	most := growth.MiB(0)
	for _, p := range processes {
		require.LessOrEqual(t, p.Memory, memory[p.Device], "process %d on GPU %s", p.PID, p.Device)
		most = max(most, p.Memory)
	}
	if os.Getenv("TRELLIS_GPU_BUSY") != "" { // a process computes meanwhile
		require.Greater(t, most, growth.MiB(100), "a context alone takes more")
	}
}
