package podlog

import (
	"bytes"
	"errors"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
)

// errFormat means that a line is not in the CRI format.
var errFormat = errors.New("not a line of a container log")

// entry is one line of a container log.
type entry struct {
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
	stream, rest, ok := bytes.Cut(rest, []byte{' '})
	if !ok || (string(stream) != "stdout" && string(stream) != "stderr") {
		return entry{}, errFormat
	}
	tags, text, _ := bytes.Cut(rest, []byte{' '}) // the space before an empty text may be missing
	first, _, _ := bytes.Cut(tags, []byte{':'})
	switch string(first) {
	case "P":
		return entry{text: text, partial: true}, nil
	case "F":
		return entry{text: text}, nil
	}
	return entry{}, errFormat
}

// joiner joins partial lines.
type joiner struct{ held []byte }

// add adds an entry. It returns the text of the line once that is complete.
func (j *joiner) add(e entry) (text []byte, complete bool) {
	if !e.partial && len(j.held) == 0 {
		return e.text[:min(len(e.text), lines.MaxText)], true
	}
	room := lines.MaxText - len(j.held)
	j.held = append(j.held, e.text[:min(len(e.text), room)]...)
	if e.partial {
		return nil, false
	}
	text, j.held = j.held, nil
	return text, true
}
