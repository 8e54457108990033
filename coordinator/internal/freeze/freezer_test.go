package freeze

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

// folders finds containers by their names.
type folders map[string]string

func (f folders) Container(_ growth.PodUID, container string) (string, error) {
	if f[container] == "" {
		return "", fs.ErrNotExist
	}
	return f[container], nil
}

// tree returns a root with one container, whose files are plain files.
func tree(t *testing.T, events string) (root, folder string) {
	root = t.TempDir()
	folder = filepath.Join(root, "kubepods", "pod-a", "c1")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "cgroup.freeze"), []byte("0\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "cgroup.events"), []byte(events), 0o600))
	return root, folder
}

func content1(t *testing.T, folder string) string {
	content, err := os.ReadFile(filepath.Join(folder, "cgroup.freeze"))
	require.NoError(t, err)
	return string(bytes.TrimSpace(content))
}

func TestFreezer_RecordsBeforeItFreezes(t *testing.T) {
	root, folder := tree(t, "populated 1\nfrozen 1\n")
	private := t.TempDir()
	f := New(root, private, folders{"c1": folder}, slog.New(slog.DiscardHandler))
	require.NoError(t, f.Freeze("a", "c1"))
	require.Equal(t, "1", content1(t, folder)[:1])
	recorded, err := f.record.read()
	require.NoError(t, err)
	require.Equal(t, []string{folder}, recorded)

	next := New(root, private, folders{}, slog.New(slog.DiscardHandler)) // the coordinator was killed
	thawed, err := next.ThawAll()
	require.NoError(t, err)
	require.Equal(t, 1, thawed)
	require.Equal(t, "0", content1(t, folder)[:1])
}

func TestFreezer_FreezesNothingThatItCannotRecord(t *testing.T) {
	root, folder := tree(t, "frozen 1\n")
	f := New(root, filepath.Join(t.TempDir(), "missing"), folders{"c1": folder}, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, f.Freeze("a", "c1"), "recording that a container is frozen")
	require.Equal(t, "0", content1(t, folder))
}

func TestFreezer_ThawsWhatDoesNotStop(t *testing.T) {
	root, folder := tree(t, "populated 1\nfrozen 0\n")
	f := New(root, t.TempDir(), folders{"c1": folder}, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, f.Freeze("a", "c1"), "have not stopped within 2s")
	require.Equal(t, "0", content1(t, folder)[:1])
}

func TestFreezer_ExplainsMissingFreezer(t *testing.T) {
	root, folder := tree(t, "")
	require.NoError(t, os.Remove(filepath.Join(folder, "cgroup.freeze")))
	f := New(root, t.TempDir(), folders{"c1": folder}, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, f.Freeze("a", "c1"), "the node needs cgroup v2")
	require.ErrorIs(t, f.Freeze("a", "c2"), fs.ErrNotExist)
	require.NoError(t, f.Thaw("a", "c2"), "it has ended")
}

// A container runs once neither its turn nor a pause wants it frozen.
func TestFreezer_TurnsAndPausesHoldAContainerTogether(t *testing.T) {
	type step struct {
		call func(*Freezer) error
		want string
	}
	freeze := func(f *Freezer) error { return f.Freeze("a", "c1") }
	thaw := func(f *Freezer) error { return f.Thaw("a", "c1") }
	pause := func(f *Freezer) error { return f.Pause("a", "c1") }
	resume := func(f *Freezer) error { return f.Resume("a", "c1") }
	for name, steps := range map[string][]step{
		"the turn ends first":  {{freeze, "1"}, {pause, "1"}, {thaw, "1"}, {resume, "0"}},
		"the pause ends first": {{pause, "1"}, {freeze, "1"}, {resume, "1"}, {thaw, "0"}},
		"a pause twice":        {{pause, "1"}, {pause, "1"}, {resume, "0"}, {resume, "0"}},
		"only turns":           {{freeze, "1"}, {thaw, "0"}, {freeze, "1"}, {thaw, "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			root, folder := tree(t, "populated 1\nfrozen 1\n")
			f := New(root, t.TempDir(), folders{"c1": folder}, slog.New(slog.DiscardHandler))
			for i, s := range steps {
				require.NoError(t, s.call(f))
				require.Equal(t, s.want, content1(t, folder)[:1], "step %d", i+1)
			}
			require.Empty(t, f.holds)
		})
	}
}

func TestRecord_IgnoresWhatIsNotBelowTheRoot(t *testing.T) {
	root, folder := tree(t, "frozen 1\n")
	private := t.TempDir()
	r := record{path: filepath.Join(private, fileName), root: filepath.Join(root, "kubepods")}
	for text, want := range map[string][]string{
		`{"v":1,"cgroups":["pod-a/c1","../x","/etc",".",""]}`: {folder},
		`{"v":1}`: nil,
	} {
		require.NoError(t, os.WriteFile(r.path, []byte(text), 0o600))
		got, err := r.read()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.NoError(t, os.WriteFile(r.path, []byte("{"), 0o600))
	_, err := r.read()
	require.ErrorContains(t, err, fileName)
	require.Error(t, r.write([]string{"/etc"}))
}

// The contract with the kernel, on machines with cgroup v2 where this process may create cgroups.
func TestFreezer_OnTheKernel(t *testing.T) {
	root := cgroup2(t)
	folder := filepath.Join(root, "trellis-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Skipf("no cgroup can be created: %v", err)
	}
	command := exec.Command("sh", "-c", "while :; do :; done")
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = write(folder, "0")
		_ = command.Process.Kill()
		_ = command.Wait()
		require.Eventually(t, func() bool { return os.Remove(folder) == nil }, 5*time.Second, 10*time.Millisecond)
	})
	pid := []byte(strconv.Itoa(command.Process.Pid))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "cgroup.procs"), pid, 0o600))

	private := t.TempDir()
	f := New(root, private, folders{"c1": folder}, slog.New(slog.DiscardHandler))
	require.NoError(t, f.Freeze("a", "c1"))
	before := cpuTime(t, folder)
	time.Sleep(100 * time.Millisecond)
	require.Equal(t, before, cpuTime(t, folder), "a frozen process runs no instruction")
	require.NoError(t, f.Thaw("a", "c1"))
	runs := func() bool { return cpuTime(t, folder) != before }
	require.Eventually(t, runs, 5*time.Second, 10*time.Millisecond)

	require.NoError(t, f.Freeze("a", "c1"))
	thawed, err := New(root, private, folders{}, slog.New(slog.DiscardHandler)).ThawAll()
	require.NoError(t, err)
	require.Equal(t, 1, thawed)
	before = cpuTime(t, folder)
	require.Eventually(t, runs, 5*time.Second, 10*time.Millisecond)
}

// cgroup2 returns where the unified hierarchy is mounted.
func cgroup2(t *testing.T) string {
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
			return root
		}
	}
	t.Skip("this machine has no cgroup v2")
	return ""
}

func cpuTime(t *testing.T, folder string) string {
	content, err := os.ReadFile(filepath.Join(folder, "cpu.stat"))
	require.NoError(t, err)
	line, _, _ := bytes.Cut(content, []byte("\n"))
	return string(line)
}
