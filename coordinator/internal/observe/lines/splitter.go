package lines

import "bytes"

// MaxText bounds a record, in bytes. Of a longer record only the end is kept, which has the newest values.
const MaxText = 16 << 10

// Splitter cuts a stream of text into records, and removes escape sequences of terminals. A record ends where a terminal
// would continue elsewhere than after the text: at a newline, a carriage return, a backspace, and a sequence that moves
// the cursor. The zero Splitter starts at the beginning of a record.
type Splitter struct {
	// Skip drops everything up to the next end of a record, for a start in the middle of one.
	Skip   bool
	held   []byte
	cut    int64 // bytes of the record before held
	escape escape
}

// Take adds a piece of the stream and calls record with each record that ends in the piece. The text is valid until
// record returns.
func (s *Splitter) Take(piece []byte, record func(text []byte)) {
	for len(piece) > 0 {
		if s.escape.state != outside {
			verdict := s.escape.next(piece[0])
			if verdict == moves {
				s.end(record)
			}
			if verdict != aborted {
				piece = piece[1:]
			}
			continue
		}
		next := bytes.IndexAny(piece, "\n\r\b\x1b")
		if next < 0 {
			s.hold(piece)
			return
		}
		s.hold(piece[:next])
		if piece[next] == '\x1b' {
			s.escape = escape{state: begun}
		} else {
			s.end(record)
		}
		piece = piece[next+1:]
	}
}

// Rest returns the text of the record that has not ended. It is valid until the next call of Take.
func (s *Splitter) Rest() []byte { return s.held[max(0, len(s.held)-MaxText):] }

// position returns the position of Rest in its record.
func (s *Splitter) position() int64 { return s.cut + int64(len(s.held)-len(s.Rest())) }

func (s *Splitter) hold(text []byte) {
	if s.Skip {
		return
	}
	if excess := len(text) - MaxText; excess > 0 {
		s.cut += int64(len(s.held) + excess)
		s.held = s.held[:0]
		text = text[excess:]
	}
	if len(s.held)+len(text) > 2*MaxText {
		rest := s.Rest()
		s.cut = s.position()
		s.held = s.held[:copy(s.held, rest)]
	}
	s.held = append(s.held, text...)
}

func (s *Splitter) end(record func(text []byte)) {
	if !s.Skip {
		record(s.Rest())
	}
	s.Skip = false
	s.held = s.held[:0]
	s.cut = 0
}
