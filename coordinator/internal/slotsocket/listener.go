package slotsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/time/rate"

	"github.com/trellis-gpu/trellis/daemon/selinux"
)

// acceptRate is the number of connections per second that a slot may open, after the first ones.
const acceptRate = 10

// Listener is the socket of one slot.
type Listener struct {
	*net.UnixListener
	path string
	file os.FileInfo
}

// Listen creates a socket in a slot, which is a folder below slots. A file of an earlier coordinator is replaced. private is
// a folder that no job can access. Calls with the same private folder and name must not overlap.
func Listen(private, slots, slot, name string) (*Listener, error) {
	if slot == "" || slot == "." || slot == ".." || strings.ContainsAny(slot, "\x00"+string(filepath.Separator)) {
		return nil, fmt.Errorf("slot %.80q is not a folder name", slot)
	}
	created := filepath.Join(private, name)
	if err := os.Remove(created); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing a stale socket: %w", err)
	}
	sock, err := listen(private, name)
	if err != nil {
		return nil, fmt.Errorf("listening for slot %s: %w", slot, err)
	}
	sock.SetUnlinkOnClose(false)
	l := &Listener{UnixListener: sock, path: filepath.Join(slots, slot, name)}
	if l.file, err = place(created, l.path); err != nil {
		_ = sock.Close()
		_ = os.Remove(created)
		return nil, fmt.Errorf("moving the socket %s into slot %s: %w", name, slot, err)
	}
	return l, nil
}

// listen creates a socket in a folder. The path of the folder may be longer than the kernel allows for a socket.
func listen(folder, name string) (*net.UnixListener, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), name), Net: "unix"})
}

// place makes a socket accessible to all users, since jobs run as any user, and renames it to path. On a node with SELinux
// it gets the label of the slot.
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

// InPlace reports whether the socket's file is still there. A job can remove or replace it.
func (l *Listener) InPlace() bool {
	now, err := os.Lstat(l.path)
	return err == nil && os.SameFile(now, l.file)
}

// Remove removes the socket's file.
func (l *Listener) Remove() { _ = os.Remove(l.path) }

// Serve passes each connection to handle until ctx ends or the socket is closed. burst is the number of connections that
// may be opened at once.
func (l *Listener) Serve(ctx context.Context, burst int, log *slog.Logger, handle func(*net.UnixConn) error) {
	limiter := rate.NewLimiter(acceptRate, max(2*acceptRate, burst))
	for limiter.Wait(ctx) == nil {
		accepted, err := l.AcceptUnix()
		if err == nil {
			err = handle(accepted)
		}
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			log.Warn("accepting a job's connection", "socket", l.path, "err", err)
		}
	}
}
