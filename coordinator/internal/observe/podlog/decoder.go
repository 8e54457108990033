package podlog

import (
	"bytes"
	"time"
)

// decoder decodes the entries of a log from pieces of its files. The text of an entry is passed on before the entry is
// complete, so that a long one needs no memory.
type decoder struct {
	to     Text
	state  state
	head   []byte // the beginning of the line, in the state atHead
	entry  entry  // in the state inText
	format format
}

type state int

const (
	atHead state = iota // in the part of a line before the text
	inText
	skipping // to the next line
)

// reset continues at the beginning of a line, or in the middle of one.
func (d *decoder) reset(middle bool) {
	d.head = d.head[:0]
	d.state = atHead
	if middle {
		d.state = skipping
	}
}

// take adds a piece, which has at most one newline, at its end.
func (d *decoder) take(piece []byte, now time.Time) {
	part, ended := bytes.CutSuffix(piece, []byte{'\n'})
	switch d.state {
	case skipping:
	case inText:
		d.to.Write(d.entry.stream, part, now)
	case atHead:
		d.head = append(d.head, part...)
		d.state = d.begin(ended, now)
	}
	if !ended {
		return
	}
	if d.state == inText && !d.entry.partial {
		d.to.Write(d.entry.stream, []byte{'\n'}, now)
	}
	d.reset(false)
}

// begin parses the beginning of a line. ended means that it is the whole line.
func (d *decoder) begin(ended bool, now time.Time) state {
	isJSON := bytes.HasPrefix(d.head, []byte{'{'})
	switch {
	case isJSON && !ended && len(d.head) < maxJSON, !isJSON && !ended && len(d.head) < maxHeader && !hasText(d.head):
		return atHead
	case isJSON && !ended: // too long
		return skipping
	}
	decode := parse
	if isJSON {
		decode = parseJSON
	}
	e, err := decode(d.head)
	d.format.observe(d.head, err)
	if err != nil {
		return skipping
	}
	d.entry = e
	d.to.Seek(e.stream, 0)
	d.to.Write(e.stream, e.text, now)
	return inText
}
