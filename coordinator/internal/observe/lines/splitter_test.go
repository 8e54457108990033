package lines_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
)

// split returns the records of the pieces, and the unfinished one.
func split(pieces ...string) (records []string, rest string) {
	var s lines.Splitter
	for _, piece := range pieces {
		s.Take([]byte(piece), func(text []byte) { records = append(records, string(text)) })
	}
	return records, string(s.Rest())
}

func TestSplitter_EndsRecordsWhereATerminalWritesElsewhere(t *testing.T) {
	const esc = "\x1b"
	for name, tc := range map[string]struct {
		text    string
		records []string
		rest    string
	}{
		"newlines":                              {"one\ntwo\n", []string{"one", "two"}, ""},
		"carriage returns":                      {"\r10%\r20%", []string{"", "10%"}, "20%"},
		"both":                                  {"one\r\ntwo", []string{"one", ""}, "two"},
		"backspaces":                            {"1/9\b\b\b2/9", []string{"1/9", "", ""}, "2/9"},
		"colours":                               {esc + "[1;38;5;208mloss" + esc + "[0m=0.5", nil, "loss=0.5"},
		"erasing the rest of a line":            {"loss" + esc + "[K=0.5", nil, "loss=0.5"},
		"cursor up":                             {"a 1" + esc + "[1Ab 2" + esc + "[2;1Hc 3", []string{"a 1", "b 2"}, "c 3"},
		"a title":                               {esc + "]0;loss=9\aloss=1", nil, "loss=1"},
		"a link":                                {esc + "]8;;http://x" + esc + "\\here" + esc + "]8;;" + esc + "\\.", nil, "here."},
		"a character set":                       {esc + "(Bloss", nil, "loss"},
		"a sequence without an end":             {esc + "[12\nloss=1", []string{""}, "loss=1"},
		"a title without an end":                {esc + "]0;title\nloss=1", []string{""}, "loss=1"},
		"a text of another alphabet":            {esc + "é=1", nil, "é=1"},
		"a sequence in a sequence starts again": {esc + "[3" + esc + "[31mloss", nil, "loss"},
	} {
		t.Run(name, func(t *testing.T) {
			records, rest := split(tc.text)
			require.Equal(t, tc.records, records)
			require.Equal(t, tc.rest, rest)
		})
	}
}

func TestSplitter_KeepsTheEndOfALongRecord(t *testing.T) {
	long := strings.Repeat("x", 5*lines.MaxText/2) + " loss=0.5"
	for _, size := range []int{1000, lines.MaxText, len(long)} {
		var pieces []string
		for at := 0; at < len(long); at += size {
			pieces = append(pieces, long[at:min(len(long), at+size)])
		}
		records, rest := split(append(pieces, "\nnext")...)
		require.Equal(t, []string{long[len(long)-lines.MaxText:]}, records)
		require.Equal(t, "next", rest)
	}
}

func TestSplitter_SkipsTheRestOfARecord(t *testing.T) {
	s := lines.Splitter{Skip: true}
	var records []string
	for _, piece := range []string{"384]", "\rloss=1\rloss", "=2\n"} {
		s.Take([]byte(piece), func(text []byte) { records = append(records, string(text)) })
	}
	require.Equal(t, []string{"loss=1", "loss=2"}, records)
}

// sequence matches an escape sequence, and movement one that ends a record.
var (
	sequence = regexp.MustCompile(`(?s)\x1b(?:\[[ -?]*[@-~]|\][^\a\x1b\n\r]*(?:\a|\x1b\\)|[ -/]*[0-OQ-WYZ\x60-~])`)
	movement = regexp.MustCompile(`^\x1b(?:\[[ -?]*[ABDEFGHJSTdfu]|[ -/]*[DEM])$`)
)

// reference cuts a text in which every escape sequence is complete.
func reference(text string) (records []string, rest string) {
	plain := sequence.ReplaceAllStringFunc(text, func(found string) string {
		if movement.MatchString(found) {
			return "\n"
		}
		return ""
	})
	parts := regexp.MustCompile("[\n\r\x08]").Split(plain, -1)
	return parts[:len(parts)-1], parts[len(parts)-1]
}

func FuzzSplitter(f *testing.F) {
	f.Add([]byte("one\r\ntwo\b\b three"), uint64(1))
	f.Add([]byte("\x1b[1;31mloss\x1b[0m=0.5\x1b[1A\x1b[2Kloss=0.4\x1b]0;t\a"), uint64(2))
	recordings, err := filepath.Glob("testdata/recordings/*.txt")
	require.NoError(f, err)
	for i, file := range recordings {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text, uint64(i))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		records, rest := split(string(text))
		random := rand.New(rand.NewPCG(seed, 1))
		var pieces []string
		for left := string(text); left != ""; {
			n := min(len(left), 1+random.IntN(9))
			pieces = append(pieces, left[:n])
			left = left[n:]
		}
		inPieces, restInPieces := split(pieces...)
		require.Equal(t, records, inPieces)
		require.Equal(t, rest, restInPieces)
		if len(text) > 60 || bytes.Contains(sequence.ReplaceAll(text, nil), []byte("\x1b")) {
			return // bounds and incomplete sequences, which the reference does not have
		}
		want, wantRest := reference(string(text))
		require.Equal(t, wantRest, rest)
		require.Equal(t, len(want), len(records))
		for i := range want {
			require.Equal(t, want[i], records[i])
		}
	})
}
