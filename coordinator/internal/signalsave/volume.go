package signalsave

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/save"
)

// attempts bounds the repetitions of an openat2 that met a rename.
const attempts = 16

var (
	errFull     = errors.New("the volume is full: free space on it, or request a larger one")
	errReadOnly = errors.New("the volume is mounted read-only: mount a writable one at the path of the checkpoint")
)

// volume is the folder at which a container mounts the volume of the checkpoint, and the path of the checkpoint below it.
type volume struct {
	folder      *os.File
	path, below string
}

// openVolume opens the folder in the root of a process.
func (s Saver) openVolume(p process, r node.SignalSave) (*volume, error) {
	below, err := filepath.Rel(r.Volume, r.Signal.Path)
	if err != nil || !filepath.IsLocal(below) || below == "." {
		return nil, fmt.Errorf("%s is not below the volume at %s", r.Signal.Path, r.Volume)
	}
	root, err := os.OpenFile(filepath.Join(s.Proc, strconv.Itoa(p.pid), "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil, ErrForbidden
	}
	if err != nil {
		return nil, ErrEnded
	}
	defer func() { _ = root.Close() }()
	mount := "./" + strings.TrimLeft(r.Volume, "/")
	folder, err := openBelow(root, mount, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return nil, fmt.Errorf("the volume at %s cannot be opened: %w", r.Volume, err)
	}
	return &volume{folder: folder, path: r.Signal.Path, below: below}, nil
}

// openBelow opens a path below a folder. resolve says what a symbolic link that leads out of it does.
func openBelow(folder *os.File, path string, flags, resolve uint64) (*os.File, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve | unix.RESOLVE_NO_MAGICLINKS}
	for attempt := 1; ; attempt++ {
		fd, err := unix.Openat2(int(folder.Fd()), path, &how)
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		if attempt == attempts || !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return nil, err
		}
	}
}

// close releases the folder.
func (v *volume) close() { _ = v.folder.Close() }

// checkWritable returns an error for a volume to which no job can write.
func (v *volume) checkWritable() error {
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(v.folder.Fd()), &s); err != nil {
		return fmt.Errorf("the volume of %s: %w", v.path, err)
	}
	if s.Flags&unix.MS_RDONLY != 0 {
		return errReadOnly
	}
	return nil
}

// full reports whether the volume has no free space, so that a file on it may be cut off. A file system that does not count its
// space has none in total either.
func (v *volume) full() bool {
	var s unix.Statfs_t
	return unix.Fstatfs(int(v.folder.Fd()), &s) == nil && s.Blocks > 0 && s.Bavail == 0
}

// look returns the file that is at the path now; the zero value if there is none.
func (v *volume) look() (save.File, error) {
	file, err := v.find()
	if errors.Is(err, fs.ErrNotExist) {
		return save.File{}, nil
	}
	if err != nil {
		return save.File{}, err
	}
	defer func() { _ = file.Close() }()
	return v.identify(file)
}

// find opens what is at the path, without access to its content.
func (v *volume) find() (*os.File, error) {
	file, err := openBelow(v.folder, v.below, unix.O_PATH, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_XDEV)
	switch {
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("a symbolic link leads from %s out of its volume: write the checkpoint into the volume itself", v.path)
	case errors.Is(err, fs.ErrPermission):
		return nil, ErrForbidden
	case err != nil:
		return nil, &fs.PathError{Op: "opening", Path: v.path, Err: err}
	}
	return file, nil
}

// identify describes an open file, which must be a regular one.
func (v *volume) identify(file *os.File) (save.File, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &s); err != nil {
		return save.File{}, &fs.PathError{Op: "inspecting", Path: v.path, Err: err}
	}
	if s.Mode&unix.S_IFMT != unix.S_IFREG {
		return save.File{}, fmt.Errorf("%s is not a regular file", v.path)
	}
	return described(s), nil
}

func described(s unix.Stat_t) save.File {
	return save.File{Device: s.Dev, Inode: s.Ino, Size: s.Size, Modified: s.Mtim.Nano()}
}
