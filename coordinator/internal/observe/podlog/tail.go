package podlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
)

// Folder is where kubelet keeps a container's logs.
func Folder(root string, pod growth.PodRef, container string) string {
	return filepath.Join(root, pod.Namespace+"_"+pod.Name+"_"+string(pod.UID), container)
}

// Tail follows one container. It is for one goroutine; Close ends it.
type Tail struct {
	folder string
	// FromEnd skips what is there at the first look: somebody has read it before.
	FromEnd bool

	number int // of the file that is open
	file   *os.File
	offset int64
	joined joiner
	cutter lines.Cutter
}

// New follows the container whose logs are in folder. Nothing need be there yet.
func New(folder string) *Tail { return &Tail{folder: folder, number: -1} }

// Close lets go of the file.
func (t *Tail) Close() {
	if t.file != nil {
		_ = t.file.Close()
		t.file = nil
	}
}

// Poll calls line with each text that has been added, and restarted before the first of a new life of the container.
// That no log is there yet is no error.
func (t *Tail) Poll(restarted func(), line func(text []byte)) error {
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
	read, err := t.drain(line)
	if err != nil || read == lines.Look { // more to come: stay with this file
		return err
	}
	switch {
	case newest < 0: // between the two steps of a rotation
		return nil
	case newest > t.number:
		restarted()
	case !t.rotated():
		return nil
	}
	t.Close()
	if err := t.open(newest); err != nil {
		return err
	}
	_, err = t.drain(line)
	return err
}

// newest is the highest restart number that has a file, or −1.
func (t *Tail) newest() (int, error) {
	entries, err := os.ReadDir(t.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, fmt.Errorf("looking for a container's log: %w", err)
	}
	newest := -1
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".log"); ok {
			if n, err := strconv.Atoi(name); err == nil {
				newest = max(newest, n)
			}
		}
	}
	return newest, nil
}

func (t *Tail) path(number int) string {
	return filepath.Join(t.folder, strconv.Itoa(number)+".log")
}

func (t *Tail) open(number int) error {
	f, err := os.Open(t.path(number))
	if err != nil {
		return fmt.Errorf("opening a container's log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return fmt.Errorf("opening a container's log: %w", err)
	}
	t.file, t.number, t.offset, t.cutter, t.joined = f, number, 0, lines.Cutter{Max: 2 * lines.MaxText}, joiner{}
	switch {
	case t.FromEnd:
		t.offset, t.FromEnd = info.Size(), false
	case info.Size() > lines.Backlog:
		t.offset, t.cutter.Skip = info.Size()-lines.Backlog, true
	}
	return nil
}

// rotated tells that another file lies now where ours was, or that ours was cut short.
func (t *Tail) rotated() bool {
	now, err := os.Stat(t.path(t.number))
	if err != nil {
		return false
	}
	ours, err := t.file.Stat()
	return err != nil || !os.SameFile(now, ours) || now.Size() < t.offset
}

// drain reads what has been added, at most one look of it.
func (t *Tail) drain(line func([]byte)) (int64, error) {
	read, err := t.cutter.Drain(t.file, t.offset, func(raw []byte) { t.take(raw, line) })
	if err != nil {
		return read, fmt.Errorf("reading a container's log: %w", err)
	}
	t.offset += read
	return read, nil
}

// take reads one line of the file.
func (t *Tail) take(raw []byte, line func([]byte)) {
	if e, err := parse(raw); err == nil {
		if text, whole := t.joined.add(e); whole {
			line(text)
		}
	}
}
