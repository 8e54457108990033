package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	// MaxText bounds a line's text, in bytes; the rest of a longer one is dropped.
	MaxText = 16 << 10
	// Backlog is how far before its end a file is entered that is long already.
	Backlog = 64 << 10
	// Look is how much one Drain reads at most.
	Look = 1 << 20
)

// Cutter puts the pieces of a file together to lines. The zero value begins at the beginning of one.
type Cutter struct {
	// Max bounds a line in bytes; the rest is dropped.
	Max int
	// Skip drops what comes before the next newline: we are in the middle of a line.
	Skip bool
	held []byte
}

// Take adds a piece, which has at most one newline, at its end: that ends the line. What line is given is only valid
// until it returns.
func (c *Cutter) Take(piece []byte, line func(text []byte)) {
	whole, ended := bytes.CutSuffix(piece, []byte{'\n'})
	if c.Skip {
		c.Skip = !ended
		return
	}
	if room := c.Max - len(c.held); room > 0 {
		c.held = append(c.held, whole[:min(len(whole), room)]...)
	}
	if ended {
		line(c.held)
		c.held = c.held[:0]
	}
}

// Drain reads what has been added to a file since offset, at most one Look of it, and returns how much that was.
func (c *Cutter) Drain(file io.ReaderAt, offset int64, line func(text []byte)) (int64, error) {
	reader := bufio.NewReaderSize(io.NewSectionReader(file, offset, Look), 32<<10)
	var read int64
	for {
		piece, err := reader.ReadSlice('\n')
		read += int64(len(piece))
		c.Take(piece, line)
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return read, err
		}
	}
}
