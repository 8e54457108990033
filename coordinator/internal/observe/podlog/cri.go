package podlog

import (
	"bytes"
	"errors"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
)

// errFormat is for a line that is not in the CRI's format.
var errFormat = errors.New("not a line of a container log")

// entry is one line of a container log.
type entry struct {
	text    []byte
	partial bool
}

// parse takes a line apart, without its newline. The text is a part of line.
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
	tags, text, _ := bytes.Cut(rest, []byte{' '}) // an empty text may lack its space
	first, _, _ := bytes.Cut(tags, []byte{':'})
	switch string(first) {
	case "P":
		return entry{text: text, partial: true}, nil
	case "F":
		return entry{text: text}, nil
	}
	return entry{}, errFormat
}

// joiner puts partial lines together.
type joiner struct{ held []byte }

// add returns the whole line once it is there.
func (j *joiner) add(e entry) (text []byte, whole bool) {
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
