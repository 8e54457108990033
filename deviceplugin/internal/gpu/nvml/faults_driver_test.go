//go:build cgo

package nvml

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
)

// TestFaults_OfARealDriver runs the program in TRELLIS_GPU_FAULT, whose kernel writes to an invalid address.
func TestFaults_OfARealDriver(t *testing.T) {
	program := strings.Fields(os.Getenv("TRELLIS_GPU_FAULT"))
	if len(program) == 0 {
		t.Skip("`make gpu-check` runs it, on machines with an NVIDIA driver")
	}
	driver, err := Open()
	require.NoError(t, err)
	defer driver.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	reported := make(chan gpu.Fault, 16)
	ended := make(chan error, 1)
	go func() { ended <- driver.Faults(ctx, func(f gpu.Fault) { reported <- f }) }()
	time.Sleep(2 * time.Second) // it listens
	output, err := exec.Command(program[0], program[1:]...).CombinedOutput()
	t.Logf("%s", output)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 77 {
		t.Skip("this machine cannot run the faulty kernel")
	}
	require.NoError(t, err)
	select {
	case fault := <-reported:
		require.Contains(t, []uint64{13, 31, 43, 45}, fault.XID, "an error of the program, not of the GPU")
		require.NotEmpty(t, fault.GPU)
	case err := <-ended:
		require.ErrorIs(t, err, ErrNoEvents)
		t.Skip("no GPU of this machine reports events")
	}
	cancel()
	require.NoError(t, <-ended)
}
