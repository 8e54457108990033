package jobfile

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// listed are processes as a cgroup lists them, one answer after the other; the last stays.
type listed [][]int

func (l *listed) Processes(growth.PodUID, string) ([]int, error) {
	now := (*l)[0]
	if len(*l) > 1 {
		*l = (*l)[1:]
	}
	if len(now) == 0 {
		return nil, errors.New("no such container")
	}
	return now, nil
}

func TestRootsOfProcesses(t *testing.T) {
	ours := os.Getpid()
	for name, tc := range map[string]struct {
		listed listed
		want   error
	}{
		"one of ours":                     {listed{{ours}}, nil},
		"the second, the first has ended": {listed{{1 << 30, ours}}, nil},
		"no process":                      {listed{{}}, ErrEnded},
		"all have ended":                  {listed{{1 << 30}}, ErrEnded},
		"a number used again by another":  {listed{{ours}, {1 << 30}}, ErrEnded},
		"outside our PID namespace":       {listed{{0}}, ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := procfs{"/proc", &tc.listed}.Root("pod", "container")
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want)
				return
			}
			require.NoError(t, err)
			require.NoError(t, root.Close())
		})
	}
}

type sink chan wire.Progress

func (s sink) Report(p wire.Progress, _ bool) { s <- p }
func (s sink) Restarted()                     {}

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loss")
	require.NoError(t, os.WriteFile(path, []byte("step 7/90 loss=0.5\n"), 0o600))
	found := make(sink, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		files := Files{Proc: "/proc", Processes: &listed{{os.Getpid()}}, Log: slog.New(slog.DiscardHandler)}
		files.Follow(ctx, Source{Container: func() string { return "c" }, Path: path}, lines.NewPlain("loss"), found, func(error) {})
	}()
	require.Equal(t, wire.Progress{Step: 7, TotalSteps: 90, Metrics: map[string]float64{"loss": 0.5}}, <-found)
	cancel()
	<-done
}

func TestWhatIsNoFileIsNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loss")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	root, err := os.Open("/")
	require.NoError(t, err)
	defer closed(root)
	_, err = open(root, path) // opening a pipe that nobody writes to would wait for ever
	require.ErrorIs(t, err, errKind)
	_, err = open(root, filepath.Dir(path))
	require.ErrorIs(t, err, errKind)
	_, err = open(root, "/dev/zero")
	require.ErrorIs(t, err, errKind)
}

func TestTroubleIsToldOnce(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var t1 trouble
	require.NoError(t, t1.note(fs.ErrNotExist, now))
	require.NoError(t, t1.note(fs.ErrNotExist, now.Add(patience/2)))
	require.ErrorContains(t, t1.note(fs.ErrNotExist, now.Add(patience)), "no such file")
	require.NoError(t, t1.note(fs.ErrNotExist, now.Add(2*patience)))
	require.NoError(t, t1.note(nil, now))
	require.ErrorIs(t, t1.note(ErrForbidden, now), ErrForbidden)
	require.NoError(t, t1.note(ErrForbidden, now))
	require.NoError(t, t1.note(ErrEnded, now), "which is told by the pod itself")
}
