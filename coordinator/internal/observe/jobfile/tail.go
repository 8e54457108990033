package jobfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
)

// roots opens containers' root folders.
type roots interface {
	Root(pod growth.PodUID, container string) (*os.File, error)
}

// tail follows one file. It is for one goroutine; close ends it.
type tail struct {
	roots roots
	pod   growth.PodUID
	path  string
	// fromEnd skips what is there at the first look: somebody has read it before.
	fromEnd bool

	container string
	file      *os.File    // nil while the container has no process
	identity  os.FileInfo // of the file that was read last
	offset    int64
	cutter    lines.Cutter
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close()
		t.file = nil
	}
}

// poll calls line with each line that has been added to the file in the container of this ID, and restarted before the
// first of another container than before.
func (t *tail) poll(container string, restarted func(), line func(text []byte)) error {
	now, err := t.find(container)
	if t.file != nil {
		if read, drained := t.drain(line); drained != nil || read == lines.Look {
			closed(now)
			return drained // more to come: stay with this file
		}
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		if t.container != "" && t.container != container {
			restarted()
		}
		t.container = container
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // which a rotation may be in the middle of
			t.close()
		}
		return err
	}
	if err := t.turn(now); err != nil {
		return err
	}
	_, err = t.drain(line)
	return err
}

// find opens what lies at the path now.
func (t *tail) find(container string) (*os.File, error) {
	root, err := t.roots.Root(t.pod, container)
	if err != nil {
		return nil, err
	}
	defer closed(root)
	return open(root, t.path)
}

// turn goes over to the file as it is now.
func (t *tail) turn(now *os.File) error {
	info, err := now.Stat()
	if err != nil {
		closed(now)
		return fmt.Errorf("looking at a job's file: %w", err)
	}
	t.close()
	same := t.identity != nil && os.SameFile(t.identity, info)
	if !same || info.Size() < t.offset {
		t.offset, t.cutter = 0, lines.Cutter{Max: lines.MaxText}
		switch {
		case t.fromEnd:
			t.offset = info.Size()
		case t.identity == nil && info.Size() > lines.Backlog:
			t.offset, t.cutter.Skip = info.Size()-lines.Backlog, true
		}
		t.fromEnd = false
	}
	t.file, t.identity = now, info
	return nil
}

func (t *tail) drain(line func([]byte)) (int64, error) {
	read, err := t.cutter.Drain(t.file, t.offset, line)
	if err != nil {
		return read, fmt.Errorf("reading a job's file: %w", err)
	}
	t.offset += read
	return read, nil
}

func closed(f *os.File) {
	if f != nil {
		_ = f.Close()
	}
}
