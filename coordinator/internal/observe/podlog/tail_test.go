package podlog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
)

const stamp = "2026-11-20T20:17:09.669794202Z"

// disk is the log folder of a container, in kubelet's layout.
type disk struct {
	t      *testing.T
	folder string
}

func newDisk(t *testing.T) disk {
	d := disk{t, Folder(t.TempDir(), growth.PodRef{Namespace: "ns", Name: "job", UID: "u"}, "train")}
	require.NoError(t, os.MkdirAll(d.folder, 0o755))
	return d
}

func (d disk) write(name, text string) {
	f, err := os.OpenFile(filepath.Join(d.folder, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(d.t, err)
	_, err = f.WriteString(text)
	require.NoError(d.t, err)
	require.NoError(d.t, f.Close())
}

func (d disk) rename(from, to string) {
	require.NoError(d.t, os.Rename(filepath.Join(d.folder, from), filepath.Join(d.folder, to)))
}

// recorder is a fake of lines.Extractor that collects the records of a log, with "↻" for a restart.
type recorder struct {
	streams [2]lines.Splitter
	muted   bool
	found   []string
}

func (r *recorder) Seek(lines.Stream, int64) {}

func (r *recorder) Write(s lines.Stream, piece []byte, _ time.Time) {
	r.streams[s].Take(piece, func(text []byte) {
		if !r.muted {
			r.found = append(r.found, string(text))
		}
	})
}

func (r *recorder) Skip() { r.streams = [2]lines.Splitter{{Skip: true}, {Skip: true}} }

func (r *recorder) Mute(muted bool) { r.muted = muted }

func (r *recorder) Restart(time.Time) {
	r.streams = [2]lines.Splitter{}
	r.found = append(r.found, "↻")
}

func newTail(d disk) *Tail { return New(d.folder, &recorder{}) }

// poll returns the records of one poll.
func poll(t *testing.T, tail *Tail) []string {
	r := tail.to.(*recorder)
	r.found = nil
	require.NoError(t, tail.Poll(time.Unix(1_700_000_000, 0)))
	return r.found
}

func full(text string) string    { return stamp + " stdout F " + text + "\n" }
func partial(text string) string { return stamp + " stdout P " + text + "\n" }

func TestTail_FollowsRotationsAndRestarts(t *testing.T) {
	d := newDisk(t)
	tail := newTail(d)
	defer tail.Close()
	require.Empty(t, poll(t, tail), "no log yet")

	d.write("0.log", full("a")+full("b"))
	require.Equal(t, []string{"a", "b"}, poll(t, tail))
	require.Empty(t, poll(t, tail), "nothing new")

	d.write("0.log", partial("c")+partial("c"))
	require.Empty(t, poll(t, tail), "a line is complete when a part with tag F arrives")
	d.write("0.log", full("c")+full("d")[:20])
	require.Equal(t, []string{"ccc"}, poll(t, tail), "half a line waits for its newline")
	d.write("0.log", full("d")[20:])
	require.Equal(t, []string{"d"}, poll(t, tail))

	d.write("0.log", full("e"))
	d.rename("0.log", "0.log.20261120-201709")
	require.Equal(t, []string{"e"}, poll(t, tail), "the file is renamed, and its successor is not created yet")
	d.write("0.log.20261120-201709", full("f"))
	d.write("0.log", full("g"))
	require.Equal(t, []string{"f", "g"}, poll(t, tail), "the rest of the old file, then the new file")

	d.write("0.log", full("h"))
	d.write("1.log", full("i"))
	require.Equal(t, []string{"h", "↻", "i"}, poll(t, tail), "a restart")

	require.NoError(t, os.Truncate(filepath.Join(d.folder, "1.log"), 0))
	require.Empty(t, poll(t, tail))
	d.write("1.log", full("j"))
	require.Equal(t, []string{"j"}, poll(t, tail), "a truncated log")
}

func TestTail_ReadsTheEndOfALongLog(t *testing.T) {
	d := newDisk(t)
	var all strings.Builder
	for i := range 10_000 {
		all.WriteString(full(fmt.Sprint(i)))
	}
	d.write("3.log", all.String())
	tail := newTail(d)
	defer tail.Close()
	found := poll(t, tail)
	require.Equal(t, "9999", found[len(found)-1])
	require.Less(t, len(found), 2000)
	require.NotContains(t, found, "↻", "the first file is not a restart")
}

func TestTail_SkipsWhatWasReadBefore(t *testing.T) {
	d := newDisk(t)
	d.write("0.log", full("read")+full("half")[:20])
	tail := newTail(d)
	tail.FromEnd = true
	defer tail.Close()
	require.Empty(t, poll(t, tail))
	d.write("0.log", full("half")[20:]+full("new"))
	require.Equal(t, []string{"half", "new"}, poll(t, tail), "half an entry was not read before")
	d.write("1.log", full("restarted"))
	require.Equal(t, []string{"↻", "restarted"}, poll(t, tail))
}

func TestTail_KeepsStreamsAndRecordsApart(t *testing.T) {
	d := newDisk(t)
	tail := newTail(d)
	defer tail.Close()
	d.write("0.log", partial("out ")+stamp+" stderr P err "+"\n"+full("1")+stamp+" stderr F 2\n")
	require.Equal(t, []string{"out 1", "err 2"}, poll(t, tail))

	d.write("0.log", partial("\r 1/9\r 2/9\r 3"))
	require.Equal(t, []string{"", " 1/9", " 2/9"}, poll(t, tail), "a bar counts before its entry is complete")
	d.rename("0.log", "0.log.20261120-201709")
	d.write("0.log", partial("/9\r"))
	require.Equal(t, []string{" 3/9"}, poll(t, tail), "a record continues after a rotation")
}

func TestTail_BoundsHugeLines(t *testing.T) {
	d := newDisk(t)
	tail := newTail(d)
	defer tail.Close()
	d.write("0.log", full("first"))
	poll(t, tail)
	d.write("0.log", stamp+" stdout F "+strings.Repeat("x", 5*lines.MaxText)+" end\n"+full("after"))
	for range 10 {
		d.write("0.log", partial(strings.Repeat("y", lines.MaxText/2)))
	}
	d.write("0.log", full("z")+full("last"))
	found := poll(t, tail)
	require.Len(t, found, 4)
	require.Equal(t, []string{"after", "last"}, []string{found[1], found[3]})
	for i, end := range []string{"x end", "after", "yyz", "last"} {
		require.LessOrEqual(t, len(found[i]), lines.MaxText)
		require.True(t, strings.HasSuffix(found[i], end), "the end of a long line is kept")
	}
}
