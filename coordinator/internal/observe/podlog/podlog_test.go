package podlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
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

func TestParse_AcceptsOnlyTheCRIFormat(t *testing.T) {
	for line, want := range map[string]entry{
		stamp + " stdout F loss=0.5":              {text: []byte("loss=0.5")},
		stamp + " stderr P loss":                  {stream: lines.Stderr, text: []byte("loss"), partial: true},
		stamp + " stdout F ":                      {text: []byte{}},
		stamp + " stdout P:more  two  spaces":     {text: []byte(" two  spaces"), partial: true},
		"2026-11-20T20:17:09+02:00 stdout F x":    {text: []byte("x")},
		stamp + " stdout F \xff\x00 is passed on": {text: []byte("\xff\x00 is passed on")},
	} {
		got, err := parse([]byte(line))
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
	}
	for _, line := range []string{
		"",
		"loss=0.5",
		stamp,
		stamp + " stdout",
		"yesterday stdout F x",
		stamp + " stdlog F x",
		stamp + " stdout X x",
		`{"log":"x"}`,
	} {
		_, err := parse([]byte(line))
		require.ErrorIs(t, err, errFormat, line)
	}
}

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

func TestTail_ReadsDockersFormat(t *testing.T) {
	d := newDisk(t)
	tail := newTail(d)
	defer tail.Close()
	line := func(text, stream string) string {
		return fmt.Sprintf(`{"log":%q,"stream":%q,"time":"%s"}`, text, stream, stamp) + "\n"
	}
	d.write("0.log", line("loss=1\n", "stdout")+line("a long ", "stdout")+line("\r50%\r", "stderr")+line("line\n", "stdout"))
	require.Equal(t, []string{"loss=1", "", "50%", "a long line"}, poll(t, tail))
	d.write("0.log", `{"log":"`+strings.Repeat("x", 2*maxJSON)+`"}`+"\n"+line("after\n", "stdout"))
	require.Equal(t, []string{"after"}, poll(t, tail), "a line that is too long is skipped")
	half := line("late\n", "stdout")
	d.write("0.log", half[:30])
	require.Empty(t, poll(t, tail))
	d.write("0.log", half[30:])
	require.Equal(t, []string{"late"}, poll(t, tail))
}

func TestTail_NamesAnUnknownFormat(t *testing.T) {
	for line, want := range map[string]string{
		"step 1 loss=0.5":                         "plain text",
		"2026-11-20 20:17:09 step 1 loss=0.5":     "plain text with a time",
		stamp + " loss=0.5 is here":               "plain text with a time",
		`{"msg":"loss=0.5","level":"info"}`:       "JSON lines of another log driver",
		`{"log":"loss=0.5","time":"now"}`:         "Docker's json-file without a stream",
		"Nov 20 20:17:09 node train[7]: loss=0.5": "syslog",
		"time=2026-11-20T20:17:09Z msg=loss":      "logfmt",
		"__REALTIME_TIMESTAMP=1700000000000000":   "systemd's journal",
		"\x00\x00\x00\x40\x06stdout loss=0.5":     "binary format",
	} {
		d := newDisk(t)
		tail := newTail(d)
		d.write("0.log", strings.Repeat(line+"\n", minUnknown-1))
		require.Empty(t, poll(t, tail))
		d.write("0.log", line+"\n")
		err := tail.Poll(time.Unix(1_700_000_000, 0))
		require.ErrorIs(t, err, ErrFormat, line)
		require.ErrorContains(t, err, want, line)
		d.write("0.log", full("loss=0.5"))
		require.Equal(t, []string{"loss=0.5"}, poll(t, tail))
		tail.Close()
	}
}

func TestTail_NamesALinkOutOfTheFolder(t *testing.T) {
	d := newDisk(t)
	require.NoError(t, os.Symlink("/var/lib/docker/containers/5f0c/5f0c-json.log", filepath.Join(d.folder, "0.log")))
	err := newTail(d).Poll(time.Unix(1_700_000_000, 0))
	require.ErrorContains(t, err, "/var/lib/docker/containers/5f0c/5f0c-json.log, which the coordinator cannot see")
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

func FuzzParse(f *testing.F) {
	f.Add([]byte(stamp + " stdout F loss=0.5"))
	f.Add([]byte(stamp + " stderr P x"))
	f.Add([]byte("\xff\x00 stdout F"))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := parse(line)
		if err == nil && len(e.text) > len(line) {
			t.Fatal("a text longer than its line")
		}
	})
}

// decode decodes the pieces of a log and returns the text of each stream, with "|" before each entry.
func decode(pieces ...[]byte) [2]string {
	w := &entries{}
	d := decoder{to: w}
	for _, piece := range pieces {
		d.take(piece, time.Time{})
	}
	return w.text
}

// entries is a fake of lines.Extractor that collects the text of entries.
type entries struct {
	recorder
	text [2]string
}

func (e *entries) Seek(s lines.Stream, _ int64)                    { e.text[s] += "|" }
func (e *entries) Write(s lines.Stream, piece []byte, _ time.Time) { e.text[s] += string(piece) }

func FuzzDecoder(f *testing.F) {
	f.Add([]byte(full("a")+partial("b")+stamp+" stderr F c\n"), uint64(1))
	f.Add([]byte(`{"log":"a\n","stream":"stdout"}`+"\n"+"plain text of no format\n"+full("")), uint64(2))
	f.Fuzz(func(t *testing.T, log []byte, seed uint64) {
		var whole, random [][]byte
		for line := range bytes.Lines(log) {
			whole = append(whole, line)
			numbers := rand.New(rand.NewPCG(seed, uint64(len(line))))
			for len(line) > 0 {
				n := 1 + numbers.IntN(min(len(line), 50))
				random = append(random, line[:n])
				line = line[n:]
			}
		}
		require.Equal(t, decode(whole...), decode(random...))
	})
}
