package podlog

import (
	"bytes"
	"errors"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
)

// errFormat means that a line is not in the CRI format.
var errFormat = errors.New("not a line of a container log")

// maxHeader bounds the part of a line before the text, in bytes.
const maxHeader = 128

// entry is one line of a container log, or its beginning.
type entry struct {
	stream  lines.Stream
	text    []byte
	partial bool
}

// parse parses a line without its newline. The returned text is a part of line.
func parse(line []byte) (entry, error) {
	stamp, rest, ok := bytes.Cut(line, []byte{' '})
	if !ok || len(stamp) > 40 {
		return entry{}, errFormat
	}
	if _, err := time.Parse(time.RFC3339Nano, string(stamp)); err != nil {
		return entry{}, errFormat
	}
	name, rest, _ := bytes.Cut(rest, []byte{' '})
	stream, ok := streamOf(string(name))
	if !ok {
		return entry{}, errFormat
	}
	tags, text, _ := bytes.Cut(rest, []byte{' '}) // the space before an empty text may be missing
	first, _, _ := bytes.Cut(tags, []byte{':'})
	switch string(first) {
	case "P":
		return entry{stream, text, true}, nil
	case "F":
		return entry{stream, text, false}, nil
	}
	return entry{}, errFormat
}

// hasText reports whether the beginning of a line reaches into its text.
func hasText(line []byte) bool {
	return bytes.Count(line[:min(len(line), maxHeader)], []byte{' '}) >= 3
}

func streamOf(name string) (stream lines.Stream, ok bool) {
	switch name {
	case "stdout":
		return lines.Stdout, true
	case "stderr":
		return lines.Stderr, true
	}
	return 0, false
}
