package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Lock is the right to change something; the kernel takes it back when its holder dies.
type Lock struct{ file *os.File }

// LockCluster gains the right to bring one cluster up or down.
func (r Root) LockCluster(ctx context.Context, name string, waiting func()) (*Lock, error) {
	return Acquire(ctx, filepath.Join(string(r), name+".lock"), waiting)
}

// LockAll gains the right to choose addresses and shared folders; it is held for moments only.
func (r Root) LockAll(ctx context.Context) (*Lock, error) {
	return Acquire(ctx, filepath.Join(string(r), "all.lock"), func() {})
}

// Acquire locks the file at path and creates it where needed. It calls waiting once if somebody else holds it.
func Acquire(ctx context.Context, path string, waiting func()) (*Lock, error) {
	const pause = 100 * time.Millisecond
	for said := false; ; {
		l, err := try(path)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !said {
			waiting()
			said = true
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

func try(path string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unix.EWOULDBLOCK // the folder was removed under our hands
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	// The last holder may have removed the file between our open and our lock: then ours locks nothing.
	named, err := os.Stat(path)
	ours, err2 := f.Stat()
	if err != nil || err2 != nil || !os.SameFile(named, ours) {
		f.Close()
		return nil, unix.EWOULDBLOCK
	}
	return &Lock{file: f}, nil
}

// Release gives the right back.
func (l *Lock) Release() { l.file.Close() }

// ReleaseAndRemove gives the right back and leaves no file.
func (l *Lock) ReleaseAndRemove() {
	_ = os.Remove(l.file.Name())
	l.file.Close()
}
