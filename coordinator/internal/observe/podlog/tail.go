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

// Folder returns the folder in which kubelet keeps the logs of a container.
func Folder(root string, pod growth.PodRef, container string) string {
	return filepath.Join(root, pod.Namespace+"_"+pod.Name+"_"+string(pod.UID), container)
}

// Tail follows the log of one container. It must not be used concurrently. Close releases the file.
type Tail struct {
	folder string
	// FromEnd skips the content at the first poll, which an earlier coordinator has read.
	FromEnd bool

	number int // restart number of the open file
	file   *os.File
	offset int64
	joined joiner
	cutter lines.Cutter
}

// New returns a Tail of the container whose logs are in folder. The folder need not exist yet.
func New(folder string) *Tail { return &Tail{folder: folder, number: -1} }

// Close closes the open file.
func (t *Tail) Close() {
	if t.file != nil {
		_ = t.file.Close()
		t.file = nil
	}
}

// Poll calls line with each line that was added since the last poll, and restarted before the first line of a restarted
// container. A missing log is not an error.
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
	if err != nil || read == lines.MaxRead { // this file may have more: the next poll continues with it
		return err
	}
	switch {
	case newest < 0: // the file is renamed, and its successor is not created yet
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

// newest returns the highest restart number that has a file, or −1.
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
	t.file = f
	t.number = number
	t.offset = 0
	t.cutter = lines.Cutter{Max: 2 * lines.MaxText}
	t.joined = joiner{}
	switch {
	case t.FromEnd:
		t.offset = info.Size()
		t.FromEnd = false
	case info.Size() > lines.Backlog:
		t.offset = info.Size() - lines.Backlog
		t.cutter.Skip = true
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
func (t *Tail) drain(line func([]byte)) (int64, error) {
	read, err := t.cutter.Drain(t.file, t.offset, func(raw []byte) { t.take(raw, line) })
	if err != nil {
		return read, fmt.Errorf("reading a container's log: %w", err)
	}
	t.offset += read
	return read, nil
}

// take parses one line of the file. It ignores a line that is not in the CRI format.
func (t *Tail) take(raw []byte, line func([]byte)) {
	e, err := parse(raw)
	if err != nil {
		return
	}
	if text, complete := t.joined.add(e); complete {
		line(text)
	}
}
