package process

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	const rest = " 1 2 3 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 98765 4096 100"
	tests := map[string]struct {
		line  string
		state byte
		start uint64
		want  string // part of the error
	}{
		"plain":                  {"12 (sleep) S" + rest, 'S', 98765, ""},
		"name with brackets":     {"12 (a) R (b) Z" + rest, 'Z', 98765, ""},
		"no name":                {"12 S" + rest, 0, 0, "malformed"},
		"cut off":                {"12 (sleep) S 1 2", 0, 0, "short"},
		"nothing":                {"", 0, 0, "malformed"},
		"start is not a number":  {"12 (x) S 1 2 3 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 x 4096", 0, 0, "invalid syntax"},
		"name ends in a newline": {"12 (x\n) S" + rest, 'S', 98765, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(tc.line))
			if tc.want != "" {
				require.ErrorContains(t, err, tc.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, status{state: tc.state, parent: 1, start: tc.start}, got)
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a) b) S 1 2 3 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 98765 4096"))
	f.Add([]byte("()"))
	f.Fuzz(func(_ *testing.T, line []byte) { _, _ = parseStat(line) })
}

func TestSignal_IgnoresReusedPIDs(t *testing.T) {
	sleep := exec.Command("sleep", "60")
	require.NoError(t, sleep.Start())
	id, err := Of(sleep.Process.Pid)
	require.NoError(t, err)
	require.True(t, id.Alive())

	earlier := Identity{PID: id.PID, Start: id.Start - 1} // a process that had this PID earlier
	require.False(t, earlier.Alive())
	require.NoError(t, earlier.Signal(unix.SIGKILL))
	require.True(t, id.Alive(), "another process with the same PID is not killed")

	require.False(t, id.WaitGone(10*time.Millisecond))
	require.NoError(t, id.Signal(unix.SIGKILL))
	require.True(t, id.WaitGone(10*time.Second))
	require.False(t, id.Alive(), "a zombie is not alive")
	require.Error(t, sleep.Wait())
	require.NoError(t, id.Signal(unix.SIGKILL), "no error after the end")
	require.False(t, Identity{}.Alive())
}

func TestStarter_ReportsExits(t *testing.T) {
	s := NewStarter()
	log := filepath.Join(t.TempDir(), "logs", "false.log")
	_, err := s.Start(Program{Name: "quitter", Path: "/bin/sh", Args: []string{"-c", "exit 3"}, Log: log})
	require.NoError(t, err)
	exit := <-s.Exits()
	require.Equal(t, "quitter ended unexpectedly: exit status 3 (log: "+log+")", exit.Error())
	require.Empty(t, s.Running())

	id, err := s.Start(Program{Name: "sleeper", Path: "/bin/sleep", Args: []string{"60"}, Log: log})
	require.NoError(t, err)
	require.Equal(t, map[string]Identity{"sleeper": id}, s.Running())
	s.KillAll(10 * time.Second)
	require.False(t, id.Alive())
	require.Equal(t, "sleeper", (<-s.Exits()).Name)

	_, err = s.Start(Program{Name: "absent", Path: "/nonexistent", Log: log})
	require.ErrorContains(t, err, "start absent")
}
