package podlog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
)

const stamp = "2026-11-20T20:17:09.669794202Z"

func TestParse_AcceptsOnlyTheCRIFormat(t *testing.T) {
	for line, want := range map[string]entry{
		stamp + " stdout F loss=0.5":              {text: []byte("loss=0.5")},
		stamp + " stderr P loss":                  {text: []byte("loss"), partial: true},
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

// poll returns the lines of one poll, with "↻" for a restart.
func poll(t *testing.T, tail *Tail) []string {
	var found []string
	restarted := func() { found = append(found, "↻") }
	line := func(text []byte) { found = append(found, string(text)) }
	require.NoError(t, tail.Poll(restarted, line))
	return found
}

func full(text string) string    { return stamp + " stdout F " + text + "\n" }
func partial(text string) string { return stamp + " stdout P " + text + "\n" }

func TestTail_FollowsRotationsAndRestarts(t *testing.T) {
	d := newDisk(t)
	tail := New(d.folder)
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
	tail := New(d.folder)
	defer tail.Close()
	found := poll(t, tail)
	require.Equal(t, "9999", found[len(found)-1])
	require.Less(t, len(found), 2000)
	require.NotContains(t, found, "↻", "the first file is not a restart")
}

func TestTail_SkipsWhatWasReadBefore(t *testing.T) {
	d := newDisk(t)
	d.write("0.log", full("read")+full("half")[:20])
	tail := New(d.folder)
	tail.FromEnd = true
	defer tail.Close()
	require.Empty(t, poll(t, tail))
	d.write("0.log", full("half")[20:]+full("new"))
	require.Equal(t, []string{"new"}, poll(t, tail))
	d.write("1.log", full("restarted"))
	require.Equal(t, []string{"↻", "restarted"}, poll(t, tail))
}

func TestTail_BoundsHugeLines(t *testing.T) {
	d := newDisk(t)
	tail := New(d.folder)
	defer tail.Close()
	d.write("0.log", full("first"))
	poll(t, tail)
	d.write("0.log", stamp+" stdout F "+strings.Repeat("x", 5*lines.MaxText)+"\n"+full("after"))
	for range 10 {
		d.write("0.log", partial(strings.Repeat("y", lines.MaxText/2)))
	}
	d.write("0.log", full("z")+full("last"))
	found := poll(t, tail)
	require.Equal(t, []string{"after", "last"}, []string{found[1], found[3]})
	for _, text := range found {
		require.LessOrEqual(t, len(text), lines.MaxText)
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
