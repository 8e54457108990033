package processtest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/processtest"
)

func start(t *testing.T, script string) *processtest.Process {
	t.Helper()
	p, err := processtest.Start(processtest.Program{
		Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"WORD=hello"}, Dir: t.TempDir(),
	})
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p
}

func never(context.Context) bool { return false }

func TestAwait_ReportsTheOutputOfAProgramThatEnds(t *testing.T) {
	err := start(t, "echo $WORD").Await(t.Context(), time.Millisecond, never)
	require.EqualError(t, err, "sh has ended: hello\n")
}

func TestAwait_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, start(t, "sleep 60").Await(ctx, time.Millisecond, never), "does not become ready")
}

func TestStop(t *testing.T) {
	p := start(t, "sleep 60")
	require.NoError(t, syscall.Kill(p.PID(), 0))
	p.Stop()
	require.Error(t, syscall.Kill(p.PID(), 0))
	p.Stop()
	(*processtest.Process)(nil).Stop()
}

// TestStart_EndsWithTheTests starts this test again in a process of its own, which starts a program and is killed.
func TestStart_EndsWithTheTests(t *testing.T) {
	if os.Getenv("KILLED") != "" {
		fmt.Println(start(t, "sleep 60").PID())
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	tests := exec.Command(os.Args[0], "-test.run=^TestStart_EndsWithTheTests$")
	tests.Env = append(os.Environ(), "KILLED=1")
	out, err := tests.Output()
	require.ErrorContains(t, err, "killed")
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(state), ") Z ") // it may have no parent that collects it
	}, 10*time.Second, 10*time.Millisecond)
}

func TestStart_NamesTheProgram(t *testing.T) {
	_, err := processtest.Start(processtest.Program{Path: "/nonexistent/program", Dir: t.TempDir()})
	require.ErrorContains(t, err, "starting program")
}
