package podlog

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// sink keeps what it receives.
type sink struct {
	mu         sync.Mutex
	values     []float64
	unreadable []error
}

func (s *sink) Report(p wire.Progress, _ bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = append(s.values, p.Metrics[0].Value)
}

func (s *sink) Unreadable(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreadable = append(s.unreadable, err)
}

func (s *sink) Restarted()            {}
func (s *sink) Unmatched(int, string) {}

// found returns what the sink has received.
func (s *sink) found() ([]float64, []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values), slices.Clone(s.unreadable)
}

func TestFollow_ReportsALogThatStaysUnreadableOnce(t *testing.T) {
	d := newDisk(t)
	synctest.Test(t, func(t *testing.T) {
		to := &sink{}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		logs := Logs{Root: filepath.Dir(filepath.Dir(d.folder)), Log: slog.New(slog.DiscardHandler)}
		pod := growth.PodRef{Namespace: "ns", Name: "job", UID: "u"}
		go logs.Follow(ctx, pod, "train", false, lines.NewReader("loss", regexp.MustCompile(`loss=(\S+)`)), to)
		wait := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		errs := func() []error { _, errs := to.found(); return errs }
		wait(time.Hour)
		require.Empty(t, errs(), "a log that does not exist yet is no problem")

		require.NoError(t, os.Symlink("/nowhere/0.log", filepath.Join(d.folder, "0.log")))
		wait(failureTimeout / 2)
		require.Empty(t, errs(), "a rotation takes a moment")
		wait(time.Hour)
		require.Len(t, errs(), 1)
		require.ErrorContains(t, errs()[0], "/nowhere/0.log")

		require.NoError(t, os.Remove(filepath.Join(d.folder, "0.log")))
		d.write("0.log", partial("\rloss=0.5 "))
		wait(time.Second)
		values, _ := to.found()
		require.Equal(t, []float64{0.5}, values, "an unfinished record")
		require.NoError(t, os.Remove(filepath.Join(d.folder, "0.log")))
		require.NoError(t, os.Symlink("/nowhere/1.log", filepath.Join(d.folder, "1.log")))
		wait(time.Hour)
		require.Len(t, errs(), 2, "again after it was readable")
	})
}
