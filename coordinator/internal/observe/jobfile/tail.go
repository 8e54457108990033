package jobfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

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
	// fromEnd skips the content at the first poll, which an earlier coordinator has read.
	fromEnd bool

	container string
	file      *os.File    // nil while the container has no process
	identity  os.FileInfo // of the file that was opened last
	offset    int64
	cutter    lines.Cutter
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close()
		t.file = nil
	}
}

// poll calls line with each line that was added to the file since the last poll, and restarted before the first line of
// a container with another ID than at the last poll.
func (t *tail) poll(container string, restarted func(), line func(text []byte)) error {
	now, err := t.find(container)
	if t.file != nil {
		read, drainErr := t.drain(line)
		if drainErr != nil || read == lines.MaxRead {
			closeFile(now)
			return drainErr // nil if this file may have more: the next poll continues with it
		}
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		if t.container != "" && t.container != container {
			restarted()
		}
		t.container = container
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // a rotation may be in progress
			t.close()
		}
		return err
	}
	if err := t.switchTo(now); err != nil {
		return err
	}
	_, err = t.drain(line)
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

// switchTo replaces the open file by now, which may be the same file. A new or truncated file is read from its
// beginning.
func (t *tail) switchTo(now *os.File) error {
	info, err := now.Stat()
	if err != nil {
		closeFile(now)
		return fmt.Errorf("inspecting a job's file: %w", err)
	}
	t.close()
	same := t.identity != nil && os.SameFile(t.identity, info)
	if !same || info.Size() < t.offset {
		t.offset = 0
		t.cutter = lines.Cutter{Max: lines.MaxText}
		switch {
		case t.fromEnd:
			t.offset = info.Size()
		case t.identity == nil && info.Size() > lines.Backlog:
			t.offset = info.Size() - lines.Backlog
			t.cutter.Skip = true
		}
		t.fromEnd = false
	}
	t.file, t.identity = now, info
	return nil
}

// drain reads what was added to the file, at most lines.MaxRead bytes.
func (t *tail) drain(line func([]byte)) (int64, error) {
	read, err := t.cutter.Drain(t.file, t.offset, line)
	if err != nil {
		return read, fmt.Errorf("reading a job's file: %w", err)
	}
	t.offset += read
	return read, nil
}

// closeFile closes f, which may be nil.
func closeFile(f *os.File) {
	if f != nil {
		_ = f.Close()
	}
}
