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

// listed is a fake of Processes: each call returns the next answer, and the last one is repeated.
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

func TestRoot_IsThatOfALiveProcessOfTheContainer(t *testing.T) {
	self := os.Getpid()
	for name, tc := range map[string]struct {
		listed listed
		want   error
	}{
		"a live process":                  {listed{{self}}, nil},
		"the second, the first has ended": {listed{{1 << 30, self}}, nil},
		"no process":                      {listed{{}}, ErrEnded},
		"all have ended":                  {listed{{1 << 30}}, ErrEnded},
		"a process ID that was reused":    {listed{{self}, {1 << 30}}, ErrEnded},
		"outside the PID namespace":       {listed{{0}}, ErrForbidden},
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
func (s sink) Unmatched(int, string)          {}
func (s sink) Unreadable(error)               {}

func TestFollow_ReportsUntilTheContextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loss")
	require.NoError(t, os.WriteFile(path, []byte("step 7/90 loss=0.5\n"), 0o600))
	found := make(sink, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		files := Files{Proc: "/proc", Processes: &listed{{os.Getpid()}}, Log: slog.New(slog.DiscardHandler)}
		from := Source{Container: func() string { return "c" }, Path: path}
		files.Follow(ctx, from, lines.NewPlain("loss"), found)
	}()
	require.Equal(t, wire.Progress{Step: 7, TotalSteps: 90, Metrics: wire.Metrics{{Name: "loss", Value: 0.5}}}, <-found)
	cancel()
	<-done
}

func TestOpen_RejectsPipesFoldersAndDevices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loss")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	root, err := os.Open("/")
	require.NoError(t, err)
	defer closeFile(root)
	_, err = open(root, path) // opening a pipe without a writer would block
	require.ErrorIs(t, err, errRegular)
	_, err = open(root, filepath.Dir(path))
	require.ErrorIs(t, err, errRegular)
	_, err = open(root, "/dev/zero")
	require.ErrorIs(t, err, errRegular)
}

func TestFailures_AreReportedOnce(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var f failures
	require.NoError(t, f.observe(fs.ErrNotExist, now))
	require.NoError(t, f.observe(fs.ErrNotExist, now.Add(missingTimeout/2)))
	require.ErrorContains(t, f.observe(fs.ErrNotExist, now.Add(missingTimeout)), "no such file")
	require.NoError(t, f.observe(fs.ErrNotExist, now.Add(2*missingTimeout)))
	require.NoError(t, f.observe(nil, now))
	require.ErrorIs(t, f.observe(ErrForbidden, now), ErrForbidden)
	require.NoError(t, f.observe(ErrForbidden, now))
	require.NoError(t, f.observe(ErrEnded, now), "the pod's status shows it already")
}
