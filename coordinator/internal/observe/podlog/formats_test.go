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
)

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
