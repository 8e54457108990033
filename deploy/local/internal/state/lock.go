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

// Lock is a file lock, which the kernel releases when its holder exits.
type Lock struct{ file *os.File }

// LockCluster locks one cluster for a change of its state.
func (r Root) LockCluster(ctx context.Context, name string, waiting func()) (*Lock, error) {
	return Acquire(ctx, filepath.Join(string(r), name+".lock"), waiting)
}

// LockAll locks the addresses and the folders that all clusters share. Hold it briefly.
func (r Root) LockAll(ctx context.Context) (*Lock, error) {
	return Acquire(ctx, filepath.Join(string(r), "all.lock"), func() {})
}

// Acquire locks the file at path, which it creates if need be. It calls waiting once if another process holds the lock.
func Acquire(ctx context.Context, path string, waiting func()) (*Lock, error) {
	const pause = 100 * time.Millisecond
	for reported := false; ; {
		l, err := try(path)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !reported {
			waiting()
			reported = true
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
		return nil, unix.EWOULDBLOCK // the folder was removed meanwhile
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	// The previous holder may have removed the file after this process opened it. Then this lock excludes no other process.
	named, err := os.Stat(path)
	ours, err2 := f.Stat()
	if err != nil || err2 != nil || !os.SameFile(named, ours) {
		f.Close()
		return nil, unix.EWOULDBLOCK
	}
	return &Lock{file: f}, nil
}

// Release releases the lock.
func (l *Lock) Release() { l.file.Close() }

// ReleaseAndRemove deletes the file and releases the lock.
func (l *Lock) ReleaseAndRemove() {
	_ = os.Remove(l.file.Name())
	l.file.Close()
}
