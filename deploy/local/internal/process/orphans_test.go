package process

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// orphan starts a process whose parent ends at once, and returns it once it has ended too.
func orphan(t *testing.T) Identity {
	t.Helper()
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "orphans become children of this process")
	t.Cleanup(func() { require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) })
	out, err := exec.Command("sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!").Output()
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(t, err)
	id, err := Of(pid)
	require.NoError(t, err)
	require.NoError(t, id.Signal(unix.SIGKILL))
	require.Eventually(t, func() bool { return endedChildren()[id] }, 10*time.Second, time.Millisecond)
	return id
}

func TestCollect_ReapsProcessesWithoutWaiter(t *testing.T) {
	id := orphan(t)
	var o Orphans
	require.Zero(t, o.Collect(), "it may have a waiter")
	require.Equal(t, 1, o.Collect())
	require.NotContains(t, endedChildren(), id)
	require.Zero(t, o.Collect())
}

func TestCollect_LeavesProcessesWithWaiter(t *testing.T) {
	ours := exec.Command("false")
	require.NoError(t, ours.Start())
	id, err := Of(ours.Process.Pid)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return endedChildren()[id] }, 10*time.Second, time.Millisecond)
	var o Orphans
	require.Zero(t, o.Collect())
	require.ErrorContains(t, ours.Wait(), "exit status 1", "its waiter gets the exit status")
	require.Zero(t, o.Collect())
}
