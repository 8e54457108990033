package shim_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/shim"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// turnJob is a job that runs the real shim, and its connection to a fake of the coordinator.
type turnJob struct {
	*testing.T
	conn  net.Conn
	lines *bufio.Scanner
}

func startTurnJob(t *testing.T, program string, environment ...string) *turnJob {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: the shim was not tested, there is no python3 on PATH")
	}
	readInputs(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, shim.FileName), shim.Source(), 0o600))
	listener, err := net.Listen("unix", filepath.Join(dir, gpushare.TurnSocketName))
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	require.NoError(t, listener.(*net.UnixListener).SetDeadline(time.Now().Add(30*time.Second)))

	command := exec.CommandContext(t.Context(), python, "-c", program)
	command.Env = append(os.Environ(), "PYTHONPATH="+dir, "GPUSHARE_DIR="+dir, "PYTHONDONTWRITEBYTECODE=1")
	command.Env = append(command.Env, environment...)
	command.Stderr = os.Stderr
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })

	conn, err := listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	return &turnJob{T: t, conn: conn, lines: bufio.NewScanner(conn)}
}

func (j *turnJob) send(turn wire.Turn) {
	j.Helper()
	line, err := wire.Encode(turn)
	require.NoError(j, err)
	_, err = j.conn.Write(line)
	require.NoError(j, err)
}

// gate returns the next gate line.
func (j *turnJob) gate(state wire.GateState) wire.Gate {
	j.Helper()
	require.True(j, j.lines.Scan(), "the job has closed the connection: %v", j.lines.Err())
	gate, err := wire.DecodeGate(j.lines.Bytes())
	require.NoError(j, err)
	require.Equal(j, state, gate.State, "%+v", gate)
	return gate
}

func TestShim_KeepsItsTurns(t *testing.T) {
	job := startTurnJob(t, "import gpushare, time\nwhile True: time.sleep(.001); gpushare.step()")
	first := job.gate(wire.GateOpen)
	require.Zero(t, first.Sequence)
	require.Equal(t, int64(1), first.Step, "a job connects at its first step")

	last := first
	for sequence := int64(1); sequence < 40; sequence += 2 {
		job.send(wire.Turn{Sequence: sequence})
		stopped := job.gate(wire.GateClosed)
		require.Equal(t, sequence, stopped.Sequence)
		require.Equal(t, last.Step+stopped.Steps, stopped.Step, "no step is missing")
		require.True(t, stopped.Steps == 0 || stopped.HeldSeconds > 0, "%+v", stopped)
		last = stopped
		job.send(wire.Turn{Sequence: sequence + 1, Hold: true})
		time.Sleep(10 * time.Millisecond) // of a turn; a shorter one may end before its first step
	}
	require.Greater(t, last.Step, first.Step+10)
}

func TestShim_StopsARankAfterTheAgreedStep(t *testing.T) {
	job := startTurnJob(t, "import gpushare, time\nwhile True: time.sleep(.001); gpushare.step()",
		"RANK=1", "LOCAL_RANK=1", "WORLD_SIZE=2")
	first := job.gate(wire.GateOpen)
	require.Equal(t, wire.Process{Rank: new(1), LocalRank: new(1), WorldSize: 2}, first.Process)

	job.send(wire.Turn{Sequence: 1, AfterStep: first.Step})
	late := job.gate(wire.GateOpen)
	require.GreaterOrEqual(t, late.Step, first.Step)
	job.send(wire.Turn{Sequence: 2, Hold: true})

	job.send(wire.Turn{Sequence: 3, AfterStep: late.Step + 1000})
	job.gate(wire.GateOpen)
	require.Equal(t, late.Step+1000, job.gate(wire.GateClosed).Step)
}

func TestShim_NeedsNoGPUWhileItWaitsForData(t *testing.T) {
	job := startTurnJob(t, `
import gpushare, time
def data():
    while True:
        time.sleep(.005)
        yield 0
for _ in gpushare.timed(data()):
    gpushare.step()
`)
	job.gate(wire.GateOpen)
	job.send(wire.Turn{Sequence: 1, Hold: true})
	for sequence := int64(2); sequence < 20; sequence++ {
		job.gate(wire.GateIdle)
		closed := job.gate(wire.GateClosed)
		require.Zero(t, closed.HeldSeconds, "the wait for data is not held")
		job.send(wire.Turn{Sequence: sequence, Hold: true})
	}
}

func TestShim_HasTheBoundOfTheProtocol(t *testing.T) {
	bound := fmt.Sprintf("TURN_BOUND = %.1f ", wire.TurnBound.Seconds())
	require.True(t, bytes.Contains(shim.Source(), []byte(bound)), bound)
}
