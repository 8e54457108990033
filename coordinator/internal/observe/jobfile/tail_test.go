package jobfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
)

// disk is the root folder of a container, with a file of the host next to it.
type disk struct {
	t      *testing.T
	folder string
	ended  bool
}

func newDisk(t *testing.T) *disk {
	above := t.TempDir()
	d := &disk{t: t, folder: filepath.Join(above, "root")}
	require.NoError(t, os.MkdirAll(filepath.Join(d.folder, "results"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(above, "secret"), []byte("host\n"), 0o600))
	return d
}

func (d *disk) Root(growth.PodUID, string) (*os.File, error) {
	if d.ended {
		return nil, ErrEnded
	}
	return os.Open(d.folder)
}

func (d *disk) write(name, text string) {
	f, err := os.OpenFile(filepath.Join(d.folder, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(d.t, err)
	_, err = f.WriteString(text)
	require.NoError(d.t, err)
	require.NoError(d.t, f.Close())
}

func (d *disk) tail() *tail { return &tail{roots: d, path: "/results/loss", to: &recorder{}} }

// recorder is a fake of lines.Extractor that collects the records of a file, with "↻" for a restart.
type recorder struct {
	splitter lines.Splitter
	muted    bool
	found    []string
}

func (r *recorder) add(text []byte) {
	if !r.muted {
		r.found = append(r.found, string(text))
	}
}

func (r *recorder) Seek(lines.Stream, int64) {}

func (r *recorder) Write(_ lines.Stream, piece []byte, _ time.Time) { r.splitter.Take(piece, r.add) }

func (r *recorder) Skip() { r.splitter = lines.Splitter{Skip: true} }

func (r *recorder) Mute(muted bool) { r.muted = muted }

func (r *recorder) Restart(time.Time) { r.found = append(r.found, "↻") }

func (r *recorder) End(time.Time) {
	if rest := r.splitter.Rest(); len(rest) > 0 {
		r.add(append(rest, " (end)"...))
	}
	r.splitter = lines.Splitter{}
}

// poll returns the records of one poll.
func poll(tail *tail, container string) ([]string, error) {
	r := tail.to.(*recorder)
	r.found = nil
	err := tail.poll(container, time.Unix(1_700_000_000, 0))
	return r.found, err
}

// finds requires the lines of the next poll.
func finds(t *testing.T, tail *tail, want ...string) {
	t.Helper()
	found, err := poll(tail, "1")
	require.NoError(t, err)
	require.Equal(t, want, found)
}

func TestTail_FollowsAGrowingRotatedAndTruncatedFile(t *testing.T) {
	d := newDisk(t)
	tail := d.tail()
	defer tail.close()
	_, err := poll(tail, "1")
	require.ErrorIs(t, err, fs.ErrNotExist, "not there yet")

	d.write("results/loss", "a\nb\n")
	finds(t, tail, "a", "b")
	finds(t, tail)
	d.write("results/loss", "c")
	finds(t, tail)
	d.write("results/loss", "c\nd\n")
	finds(t, tail, "cc", "d")

	d.write("results/loss", "e\n")
	require.NoError(t, os.Rename(filepath.Join(d.folder, "results/loss"), filepath.Join(d.folder, "results/loss.1")))
	found, err := poll(tail, "1")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, []string{"e"}, found, "the file is renamed, and its successor is not created yet")
	d.write("results/loss.1", "f\n")
	d.write("results/loss", "g\n")
	finds(t, tail, "f", "g")

	require.NoError(t, os.Truncate(filepath.Join(d.folder, "results/loss"), 0))
	finds(t, tail)
	d.write("results/loss", "h\n")
	finds(t, tail, "h")

	d.write("results/loss", "\r1/9\r2")
	finds(t, tail, "", "1/9")
	require.NoError(t, os.Truncate(filepath.Join(d.folder, "results/loss"), 0))
	finds(t, tail, "2 (end)")
}

func TestTail_ContinuesAfterARestartOfTheContainer(t *testing.T) {
	d := newDisk(t)
	tail := d.tail()
	defer tail.close()
	d.write("results/loss", "a\n")
	finds(t, tail, "a")

	d.write("results/loss", "b\n")
	d.ended = true
	found, err := poll(tail, "1")
	require.ErrorIs(t, err, ErrEnded)
	require.Equal(t, []string{"b"}, found, "the last line before the end")
	require.Nil(t, tail.file, "no file of an ended container stays open")

	d.ended = false
	d.write("results/loss", "c\n")
	found, err = poll(tail, "2")
	require.NoError(t, err)
	require.Equal(t, []string{"↻", "c"}, found, "a file in a volume is read on")

	require.NoError(t, os.Remove(filepath.Join(d.folder, "results/loss")))
	_, err = poll(tail, "3")
	require.ErrorIs(t, err, fs.ErrNotExist)
	d.write("results/loss", "d\n")
	finds(t, tail, "↻", "d")
}

func TestTail_ReadsTheEndOfALongFile(t *testing.T) {
	d := newDisk(t)
	d.write("results/loss", strings.Repeat("0.125\n", 100_000)+"last\n")
	tail := d.tail()
	defer tail.close()
	found, err := poll(tail, "1")
	require.NoError(t, err)
	require.Equal(t, "last", found[len(found)-1])
	require.LessOrEqual(t, len(found), lines.Backlog/6+1)

	again := d.tail()
	again.fromEnd = true
	defer again.close()
	finds(t, again)
	d.write("results/loss", "new\n")
	finds(t, again, "new")
}

func TestTail_BoundsOnePollAndLosesNothing(t *testing.T) {
	d := newDisk(t)
	tail := d.tail()
	defer tail.close()
	d.write("results/loss", "first\n")
	finds(t, tail, "first")
	const n = 300_000
	d.write("results/loss", strings.Repeat("1.5\n", n))
	d.write("results/loss", strings.Repeat("x", 3*lines.MaxText)+"\n")
	seen := 0
	for range 4 {
		found, err := poll(tail, "1")
		require.NoError(t, err)
		for _, text := range found {
			require.LessOrEqual(t, len(text), lines.MaxText)
		}
		seen += len(found)
	}
	require.Equal(t, n+1, seen)
}

func TestTail_StaysInsideTheContainer(t *testing.T) {
	for name, plant := range map[string]func(d *disk) error{
		"a relative link out of the root": func(d *disk) error {
			return os.Symlink("../../secret", filepath.Join(d.folder, "results/loss"))
		},
		"an absolute link": func(d *disk) error {
			return os.Symlink(filepath.Join(filepath.Dir(d.folder), "secret"), filepath.Join(d.folder, "results/loss"))
		},
		"a folder that is a link": func(d *disk) error {
			if err := os.Remove(filepath.Join(d.folder, "results")); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(filepath.Dir(d.folder), "loss"), []byte("host\n"), 0o600); err != nil {
				return err
			}
			return os.Symlink("..", filepath.Join(d.folder, "results"))
		},
		"a magic link": func(d *disk) error {
			return os.Symlink("/proc/self/fd/0", filepath.Join(d.folder, "results/loss"))
		},
		"a link to itself": func(d *disk) error {
			return os.Symlink("loss", filepath.Join(d.folder, "results/loss"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			require.NoError(t, plant(d))
			found, err := poll(d.tail(), "1")
			require.Error(t, err)
			require.Empty(t, found)
		})
	}
	d := newDisk(t)
	d.write("elsewhere", "mine\n")
	require.NoError(t, os.Symlink("/elsewhere", filepath.Join(d.folder, "results/loss")))
	tail := d.tail()
	defer tail.close()
	finds(t, tail, "mine")
}
