package jobfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
)

// roots opens the root folders of containers.
type roots interface {
	Root(pod growth.PodUID, container string) (*os.File, error)
}

// tail follows one file. It must not be used concurrently. close releases the file.
type tail struct {
	roots roots
	pod   growth.PodUID
	path  string
	to    text
	// fromEnd mutes the content at the first poll, which an earlier coordinator has read.
	fromEnd bool

	container string
	file      *os.File    // nil while the container has no process
	identity  os.FileInfo // of the file that was opened last
	offset    int64
	muted     bool
}

// text receives the text of a file. lines.Extractor implements it.
type text interface {
	// Seek sets the position of the next text in the file.
	Seek(s lines.Stream, position int64)
	Write(s lines.Stream, piece []byte, now time.Time)
	// Skip drops the rest of the current record: the next text is from the middle of the file.
	Skip()
	// Mute is called before and after text that an earlier coordinator has read.
	Mute(muted bool)
	// Restart is called before the first text of a restarted container, End before that of another file.
	Restart(now time.Time)
	End(now time.Time)
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close()
		t.file = nil
	}
}

// poll passes on the text that was added to the file since the last poll. A container with another ID than at the last
// poll has restarted.
func (t *tail) poll(container string, now time.Time) error {
	newest, err := t.find(container)
	if t.file != nil {
		read, drainErr := t.drain(now)
		if drainErr != nil || read == lines.MaxRead {
			closeFile(newest)
			return drainErr // nil if this file may have more: the next poll continues with it
		}
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		if t.container != "" && t.container != container {
			t.to.Restart(now)
		}
		t.container = container
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // a rotation may be in progress
			t.close()
		}
		return err
	}
	if err := t.switchTo(newest, now); err != nil {
		return err
	}
	_, err = t.drain(now)
	return err
}

// find opens the file that is at the path now.
func (t *tail) find(container string) (*os.File, error) {
	root, err := t.roots.Root(t.pod, container)
	if err != nil {
		return nil, err
	}
	defer closeFile(root)
	return open(root, t.path)
}

// switchTo replaces the open file by newest, which may be the same file. A new or truncated file is read from its
// beginning, and one that is long when it is first opened from the beginning of its backlog.
func (t *tail) switchTo(newest *os.File, now time.Time) error {
	info, err := newest.Stat()
	if err != nil {
		closeFile(newest)
		return fmt.Errorf("inspecting a job's file: %w", err)
	}
	t.close()
	first := t.identity == nil
	same := !first && os.SameFile(t.identity, info)
	t.file, t.identity = newest, info
	if same && info.Size() >= t.offset {
		return nil
	}
	if !first {
		t.to.End(now)
	}
	t.offset = 0
	if (first || t.fromEnd) && info.Size() > lines.Backlog {
		t.offset = info.Size() - lines.Backlog - 1 // the byte before the backlog may end a record
		t.to.Skip()
	}
	if t.fromEnd {
		t.fromEnd = false
		t.muted = true
		t.to.Mute(true)
	}
	t.to.Seek(lines.Stdout, t.offset)
	return nil
}

// drain reads what was added to the file, at most lines.MaxRead bytes.
func (t *tail) drain(now time.Time) (int64, error) {
	read, err := lines.Drain(t.file, t.offset, func(piece []byte) { t.to.Write(lines.Stdout, piece, now) })
	if err != nil {
		return read, fmt.Errorf("reading a job's file: %w", err)
	}
	t.offset += read
	if t.muted {
		t.muted = false
		t.to.Mute(false)
	}
	return read, nil
}

// closeFile closes f, which may be nil.
func closeFile(f *os.File) {
	if f != nil {
		_ = f.Close()
	}
}
