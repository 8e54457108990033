package lines

import "strings"

// escape is the position in an escape sequence (ECMA-48).
type escape struct {
	state  escapeState
	length int
}

type escapeState int

const (
	outside escapeState = iota
	begun               // after ESC
	control             // in a control sequence: ESC [ parameters final
	command             // in a string such as a window title: ESC ] text, up to BEL or ESC \
	closing             // after ESC in such a string
)

// verdict is the effect of a byte on an escape sequence.
type verdict int

const (
	inside  verdict = iota // the byte belongs to the sequence
	moves                  // the byte ends a sequence that moves the cursor
	aborted                // the byte does not belong to the sequence, which ends before it
)

const (
	maxControl = 64
	maxCommand = 4 << 10
	// cursorMoves are the control sequences after which a terminal writes elsewhere. Colours (m), a move to the right (C)
	// and erasing in the line (K) do not end a record.
	cursorMoves = "ABDEFGHJSTdfu"
)

// next adds a byte to the sequence.
func (e *escape) next(b byte) verdict {
	e.length++
	switch e.state {
	case begun:
		return e.begin(b)
	case control:
		switch {
		case b >= ' ' && b < '@' && e.length < maxControl:
			return inside
		case b >= '@' && b <= '~':
			e.state = outside
			return moved(strings.IndexByte(cursorMoves, b) >= 0)
		}
	case command:
		switch {
		case b == '\a':
			e.state = outside
			return inside
		case b == '\x1b':
			e.state = closing
			return inside
		case b != '\n' && b != '\r' && e.length < maxCommand:
			return inside
		}
	case closing:
		if b == '\\' {
			e.state = outside
			return inside
		}
	}
	e.state = outside
	return aborted
}

// begin adds the byte after ESC.
func (e *escape) begin(b byte) verdict {
	switch {
	case b == '[':
		e.state = control
		return inside
	case strings.IndexByte("]PX^_", b) >= 0:
		e.state = command
		return inside
	case b >= ' ' && b < '0' && e.length < maxControl: // as in the choice of a character set
		return inside
	case b >= '0' && b <= '~':
		e.state = outside
		return moved(b == 'D' || b == 'E' || b == 'M')
	}
	e.state = outside
	return aborted
}

func moved(yes bool) verdict {
	if yes {
		return moves
	}
	return inside
}
