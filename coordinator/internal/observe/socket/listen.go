package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/trellis-gpu/trellis/daemon/selinux"
)

// ValidSlot reports whether the name of a slot is that of a folder.
func ValidSlot(slot string) bool {
	return slot != "" && slot != "." && slot != ".." && !strings.ContainsAny(slot, "\x00"+string(filepath.Separator))
}

// Listen creates a socket at created, in a folder that no job can access, and moves it to path.
func Listen(created, path string) (*net.UnixListener, os.FileInfo, error) {
	if err := os.Remove(created); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("removing a stale socket: %w", err)
	}
	sock, err := net.ListenUnix("unix", &net.UnixAddr{Name: created, Net: "unix"})
	if err != nil {
		return nil, nil, err
	}
	sock.SetUnlinkOnClose(false)
	file, err := place(created, path)
	if err != nil {
		_ = sock.Close()
		_ = os.Remove(created)
		return nil, nil, fmt.Errorf("moving the socket into its slot: %w", err)
	}
	return sock, file, nil
}

// place makes a socket accessible to all users, since jobs run as any user, and renames it to path. A file of an
// earlier coordinator at path is replaced. On a node with SELinux it gets the label of the slot.
func place(created, path string) (os.FileInfo, error) {
	if err := os.Chmod(created, 0o666); err != nil {
		return nil, err
	}
	if err := selinux.Copy(selinux.Kernel(), filepath.Dir(path), created); err != nil {
		return nil, err
	}
	if err := os.Rename(created, path); err != nil {
		return nil, err
	}
	return os.Lstat(path)
}
