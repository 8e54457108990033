package podlog

import (
	"fmt"
	"os"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
)

// Text receives the text of a log, by stream. lines.Extractor implements it.
type Text interface {
	// Seek sets the position of the next text in its entry.
	Seek(s lines.Stream, position int64)
	Write(s lines.Stream, piece []byte, now time.Time)
	// Skip drops the rest of the current records: the next text is from the middle of the log.
	Skip()
	// Mute is called before and after text that an earlier coordinator has read.
	Mute(muted bool)
	// Restart is called before the first text of a restarted container.
	Restart(now time.Time)
}

// Tail follows the log of one container. It must not be used concurrently. Close releases the file.
type Tail struct {
	folder string
	to     Text
	// FromEnd mutes the content at the first poll, which an earlier coordinator has read.
	FromEnd bool

	number  int // restart number of the open file
	file    *os.File
	offset  int64
	muted   bool
	decoder decoder
}

// New returns a Tail of the container whose logs are in folder. The folder need not exist yet.
func New(folder string, to Text) *Tail {
	return &Tail{folder: folder, to: to, number: -1, decoder: decoder{to: to}}
}

// Close closes the open file.
func (t *Tail) Close() {
	if t.file != nil {
		_ = t.file.Close()
		t.file = nil
	}
}

// Poll passes on the text that was added since the last poll. A missing log is not an error. It returns ErrFormat while
// no line of the log could be read.
func (t *Tail) Poll(now time.Time) error {
	if err := t.follow(now); err != nil {
		return err
	}
	return t.decoder.format.err()
}

func (t *Tail) follow(now time.Time) error {
	newest, err := t.newest()
	if err != nil {
		return err
	}
	if t.file == nil {
		if newest < 0 {
			return nil
		}
		if err := t.open(newest); err != nil {
			return err
		}
	}
	read, err := t.drain(now)
	if err != nil || read == lines.MaxRead { // this file may have more: the next poll continues with it
		return err
	}
	switch {
	case newest < 0: // the file is renamed, and its successor is not created yet
		return nil
	case newest > t.number:
		t.to.Restart(now)
	case !t.rotated():
		return nil
	}
	t.Close()
	if err := t.open(newest); err != nil {
		return err
	}
	_, err = t.drain(now)
	return err
}

// open opens a file of the log at its beginning, or where its backlog begins.
func (t *Tail) open(number int) error {
	f, err := os.Open(t.path(number))
	if err != nil {
		return openError(t.path(number), err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return fmt.Errorf("opening a container's log: %w", err)
	}
	t.file = f
	t.number = number
	t.offset = max(0, info.Size()-lines.Backlog-1) // the byte before the backlog may end a line
	t.decoder.reset(t.offset > 0)
	if t.offset > 0 {
		t.to.Skip()
	}
	if t.FromEnd {
		t.FromEnd = false
		t.muted = true
		t.to.Mute(true)
	}
	return nil
}

// rotated reports whether another file has replaced the open one, or the open one was truncated.
func (t *Tail) rotated() bool {
	now, err := os.Stat(t.path(t.number))
	if err != nil {
		return false
	}
	opened, err := t.file.Stat()
	return err != nil || !os.SameFile(now, opened) || now.Size() < t.offset
}

// drain reads what was added to the file, at most lines.MaxRead bytes.
func (t *Tail) drain(now time.Time) (int64, error) {
	read, err := lines.Drain(t.file, t.offset, func(piece []byte) { t.decoder.take(piece, now) })
	if err != nil {
		return read, fmt.Errorf("reading a container's log: %w", err)
	}
	t.offset += read
	if t.muted {
		t.muted = false
		t.to.Mute(false)
	}
	return read, nil
}
