package jobfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/growth"
)

var (
	// ErrForbidden means that this coordinator may not read files of containers.
	ErrForbidden = errors.New("this node's coordinator may not look into containers: " +
		"an administrator can allow it by deploy/components/file-progress")
	// ErrEnded means that the container has no running process.
	ErrEnded   = errors.New("the container has no process")
	errRegular = errors.New("is not a regular file")
)

// Processes lists a container's processes.
type Processes interface {
	Processes(pod growth.PodUID, container string) ([]int, error)
}

// procfs opens the root folders of containers through the procfs at path.
type procfs struct {
	path      string
	processes Processes
}

// Root opens the root folder of a container, by its ID.
func (p procfs) Root(pod growth.PodUID, container string) (*os.File, error) {
	listed, err := p.processes.Processes(pod, container)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEnded, err)
	}
	for _, pid := range listed {
		if pid == 0 { // a process outside this PID namespace
			return nil, ErrForbidden
		}
		path := filepath.Join(p.path, strconv.Itoa(pid), "root")
		root, err := os.OpenFile(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if errors.Is(err, fs.ErrPermission) {
			return nil, ErrForbidden
		}
		if err != nil {
			continue // the process has ended
		}
		if again, err := p.processes.Processes(pod, container); err == nil && slices.Contains(again, pid) {
			return root, nil
		}
		_ = root.Close()
	}
	return nil, ErrEnded
}

// open opens the regular file at path for reading. It follows symbolic links, but never leaves root.
func open(root *os.File, path string) (*os.File, error) {
	fd, err := unix.Openat2(int(root.Fd()), strings.TrimLeft(path, "/"), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, &fs.PathError{Op: "opening", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, &fs.PathError{Op: "opening", Path: path, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("%s %w", path, errRegular)
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%s: %w", path, ErrForbidden)
	}
	return f, err
}
