package lines

import (
	"bufio"
	"errors"
	"io"
)

const (
	// Backlog bounds what is read of a file that exists already when it is first opened: its last bytes.
	Backlog = 64 << 10
	// MaxRead bounds the bytes that one Drain reads.
	MaxRead = 1 << 20
)

// Drain passes a file from offset to its end to take, at most MaxRead bytes, and returns the number of bytes. A piece
// has at most one newline, at its end. It is valid until take returns.
func Drain(file io.ReaderAt, offset int64, take func(piece []byte)) (int64, error) {
	reader := bufio.NewReaderSize(io.NewSectionReader(file, offset, MaxRead), 32<<10)
	var read int64
	for {
		piece, err := reader.ReadSlice('\n')
		read += int64(len(piece))
		take(piece)
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return read, err
		}
	}
}
