package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	// MaxText bounds the text of a line, in bytes. The rest of a longer line is dropped.
	MaxText = 16 << 10
	// Backlog bounds what is read of a file that exists already when it is first opened: its last bytes.
	Backlog = 64 << 10
	// MaxRead bounds the bytes that one Drain reads.
	MaxRead = 1 << 20
)

// Cutter assembles lines from the pieces of a file. It starts at the beginning of a line, unless Skip is set.
type Cutter struct {
	// Max bounds a line, in bytes. The rest of a longer line is dropped.
	Max int
	// Skip drops everything before the next newline, for a start in the middle of a line.
	Skip bool
	held []byte
}

// Take adds a piece. A piece has at most one newline, at its end, which completes the line. The text passed to line is
// valid until line returns.
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

// Drain reads a file from offset to its end, at most MaxRead bytes, and returns the number of bytes read.
func (c *Cutter) Drain(file io.ReaderAt, offset int64, line func(text []byte)) (int64, error) {
	reader := bufio.NewReaderSize(io.NewSectionReader(file, offset, MaxRead), 32<<10)
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
