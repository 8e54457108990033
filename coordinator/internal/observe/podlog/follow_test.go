package podlog

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
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
	values     []float64
	unreadable []error
}

func (s *sink) Report(p wire.Progress, _ bool) { s.values = append(s.values, p.Metrics["loss"]) }
func (s *sink) Restarted()                     {}
func (s *sink) Unmatched(int, string)          {}
func (s *sink) Unreadable(err error)           { s.unreadable = append(s.unreadable, err) }

func TestFollow_ReportsALogThatStaysUnreadableOnce(t *testing.T) {
	d := newDisk(t)
	synctest.Test(t, func(t *testing.T) {
		found := &sink{}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		logs := Logs{Root: filepath.Dir(filepath.Dir(d.folder)), Log: slog.New(slog.DiscardHandler)}
		pod := growth.PodRef{Namespace: "ns", Name: "job", UID: "u"}
		go logs.Follow(ctx, pod, "train", false, lines.NewReader("loss", regexp.MustCompile(`loss=(\S+)`)), found)
		wait := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		wait(time.Hour)
		require.Empty(t, found.unreadable, "a log that does not exist yet is no problem")

		require.NoError(t, os.Symlink("/nowhere/0.log", filepath.Join(d.folder, "0.log")))
		wait(failureTimeout / 2)
		require.Empty(t, found.unreadable, "a rotation takes a moment")
		wait(time.Hour)
		require.Len(t, found.unreadable, 1)
		require.ErrorContains(t, found.unreadable[0], "/nowhere/0.log")

		require.NoError(t, os.Remove(filepath.Join(d.folder, "0.log")))
		d.write("0.log", partial("\rloss=0.5 "))
		wait(time.Second)
		require.Equal(t, []float64{0.5}, found.values, "an unfinished record")
		require.NoError(t, os.Remove(filepath.Join(d.folder, "0.log")))
		require.NoError(t, os.Symlink("/nowhere/1.log", filepath.Join(d.folder, "1.log")))
		wait(time.Hour)
		require.Len(t, found.unreadable, 2, "again after it was readable")
	})
}
