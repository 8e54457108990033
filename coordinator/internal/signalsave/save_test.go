package signalsave

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
)

// listed is a container with these processes.
type listed []int

func (l listed) Processes(growth.PodUID, string) ([]int, error) { return append([]int(nil), l...), nil }

// program runs a shell script whose $1 is the path of the checkpoint until the end of the test. It returns once the script has
// written a line.
func program(t *testing.T, shell, script, path string) *exec.Cmd {
	t.Helper()
	command := exec.Command(shell, "-c", script+"\necho ready\nwhile :; do sleep .02; done", "sh", path)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	_, err = bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	return command
}

// asked returns a request for a file in a folder that is a volume.
func asked(volume, path string, within time.Duration) node.SignalSave {
	return node.SignalSave{
		Container: "c1",
		Signal:    gpushare.SaveSignal{Name: "SIGUSR1", Path: path},
		Volume:    volume,
		Deadline:  time.Now().Add(within),
	}
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

const patience = 30 * time.Second

func TestSave_Scripts(t *testing.T) {
	for name, tc := range map[string]struct {
		before string // content of an earlier checkpoint
		script string
		within time.Duration
		want   string // content of the checkpoint
		fails  string
	}{
		"another file is renamed": {
			before: "old\n",
			script: `trap 'echo new >"$1.new"; mv "$1.new" "$1"' USR1`,
			want:   "new\n",
		},
		"the first checkpoint, in place": {script: `trap 'echo new >"$1"' USR1`, want: "new\n"},
		"it writes short and then more":  {script: `trap 'echo short >"$1"; sleep .5; echo more >>"$1"' USR1`, want: "short\nmore\n"},
		"a long pause in an open file": {
			script: `trap 'exec 3>"$1"; echo short >&3; sleep 2.5; echo more >&3; exec 3>&-' USR1`,
			want:   "short\nmore\n",
		},
		"it saves and ends": {script: `trap 'echo new >"$1"; exit 0' USR1`, want: "new\n"},
		"a link inside the volume": {
			script: `ln -s job.9 "$1"; trap 'echo new >"$1.tmp"; mv "$1.tmp" "${1%/*}/job.9"' USR1`,
			want:   "new\n",
		},
		"it never writes": {
			before: "old\n", script: `trap ':' USR1`, within: 1500 * time.Millisecond,
			fails: "SIGUSR1 has not led to a complete /FILE within 1.5s: the file there is the one from before",
		},
		"it writes no first file": {script: `trap ':' USR1`, within: 500 * time.Millisecond, fails: "it has written no file there"},
		"it still writes":         {script: `trap 'exec 3>"$1"; echo short >&3' USR1`, within: 3 * time.Second, fails: "it still had the file open for writing"},
		"it writes nothing":       {script: `trap ': >"$1"' USR1`, within: 1500 * time.Millisecond, fails: "the file there is empty"},
		"it dies of the signal":   {before: "old\n", script: `trap 'exit 3' USR1`, fails: "ended after SIGUSR1: the file there is the one from before (/FILE)"},
		"it would die of it":      {script: ``, fails: "has no handler for SIGUSR1, which would end it, so nothing was sent"},
		"it ignores the signal":   {script: `trap '' USR1`, fails: "ignores SIGUSR1, so nothing was sent"},
		"a link out of the volume": {
			script: `ln -s ../secret "$1"; trap ':' USR1`,
			fails:  "a symbolic link leads from /FILE out of its volume",
		},
		"a link out of it that comes with the signal": {
			script: `trap 'ln -s ../secret "$1"' USR1`,
			fails:  "a symbolic link leads from /FILE out of its volume",
		},
		"a link to the root of the container": {script: `ln -s /etc/passwd "$1"; trap ':' USR1`, fails: "out of its volume"},
		"a pipe":                              {script: `mkfifo "$1"; trap ':' USR1`, fails: "/FILE is not a regular file"},
		"a folder":                            {script: `mkdir "$1"; trap ':' USR1`, fails: "/FILE is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			volume := filepath.Join(folder, "volume")
			require.NoError(t, os.Mkdir(volume, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(folder, "secret"), []byte("host\n"), 0o600))
			path := filepath.Join(volume, "job.pt")
			if tc.before != "" {
				require.NoError(t, os.WriteFile(path, []byte(tc.before), 0o600))
			}
			within := tc.within
			if within == 0 {
				within = patience
			}
			job := program(t, "/bin/sh", tc.script, path)
			saver := Saver{Proc: "/proc", Processes: listed{job.Process.Pid}}
			sum, err := saver.Save(t.Context(), asked(volume, path, within))
			if tc.fails != "" {
				require.ErrorContains(t, err, replaceFile(tc.fails, path))
				return
			}
			require.NoError(t, err)
			require.Equal(t, digest(tc.want), sum)
		})
	}
}

// The oldest process with the name gets the signal, and by default the oldest of all.
func TestSave_FindsTheProcess(t *testing.T) {
	volume := t.TempDir()
	path := filepath.Join(volume, "job.pt")
	launcher := program(t, "/bin/sh", "", path)
	named := filepath.Join(t.TempDir(), "trainer")
	shell, err := os.ReadFile("/bin/sh")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(named, shell, 0o700))
	trainer := program(t, named, `trap 'echo new >"$1"' USR1`, path)
	time.Sleep(50 * time.Millisecond) // processes that start within 10 ms have equal times
	worker := program(t, named, `trap 'echo worker >"$1"' USR1`, path)
	saver := Saver{Proc: "/proc", Processes: listed{worker.Process.Pid, launcher.Process.Pid, trainer.Process.Pid, 1 << 30}}

	request := asked(volume, path, patience)
	_, err = saver.Save(t.Context(), request)
	require.ErrorContains(t, err, `or name the process that has it, as in "signal:SIGUSR1:python3"`)
	request.Signal.Process = "python3"
	_, err = saver.Save(t.Context(), request)
	require.ErrorContains(t, err, "no process of its container has the name python3: there are ")
	require.ErrorContains(t, err, "trainer")
	request.Signal.Process = "trainer"
	sum, err := saver.Save(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, digest("new\n"), sum)
}

func TestSave_WithoutAccess(t *testing.T) {
	request := asked("/ckpt", "/ckpt/job.pt", patience)
	_, err := Saver{Proc: "/proc", Processes: listed{0}}.Save(t.Context(), request)
	require.ErrorIs(t, err, ErrForbidden)
	_, err = Saver{Proc: "/proc", Processes: listed{1 << 30}}.Save(t.Context(), request)
	require.ErrorIs(t, err, ErrEnded)
	request.Signal.Path = "/elsewhere/job.pt"
	_, err = Saver{Proc: "/proc", Processes: listed{os.Getpid()}}.Save(t.Context(), request)
	require.ErrorContains(t, err, "is not below the volume")
}

// The faults of real volumes.
func TestSave_Volumes(t *testing.T) {
	for name, tc := range map[string]struct {
		mount func(t *testing.T, folder string)
		fails string
	}{
		"a full disk": {
			mount: func(t *testing.T, folder string) { mount(t, "tmpfs", folder, "tmpfs", 0, "size=64k") },
			fails: "the volume is full: free space on it, or request a larger one (/FILE may be cut off)",
		},
		"a read-only volume": {
			mount: func(t *testing.T, folder string) {
				mount(t, folder, folder, "", unix.MS_BIND, "")
				require.NoError(t, unix.Mount("", folder, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
			},
			fails: "the volume is mounted read-only: mount a writable one at the path of the checkpoint",
		},
		"a volume that is mounted in the volume": {
			mount: func(t *testing.T, folder string) {
				inner := filepath.Join(folder, "inner")
				require.NoError(t, os.Mkdir(inner, 0o755))
				mount(t, "tmpfs", inner, "tmpfs", 0, "size=1m")
				require.NoError(t, os.Symlink("inner/job.pt", filepath.Join(folder, "job.pt")))
				require.NoError(t, os.WriteFile(filepath.Join(inner, "job.pt"), []byte("x"), 0o600))
			},
			fails: "a symbolic link leads from /FILE out of its volume",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			tc.mount(t, folder)
			path := filepath.Join(folder, "job.pt")
			job := program(t, "/bin/sh", `trap 'head -c 100000 /dev/zero >"$1" 2>/dev/null' USR1`, path)
			_, err := Saver{Proc: "/proc", Processes: listed{job.Process.Pid}}.Save(t.Context(), asked(folder, path, patience))
			require.ErrorContains(t, err, replaceFile(tc.fails, path))
		})
	}
}

// mount mounts a file system until the end of the test.
func mount(t *testing.T, source, folder, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, folder, kind, flags, data); err != nil {
		t.Skipf("SKIPPED: this test mounts file systems, which needs root: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
}
