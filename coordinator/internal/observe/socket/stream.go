package socket

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// retry is how long a write that finds no room waits before it tries again.
const retry = 10 * time.Millisecond

// stream is a job's connection that the runtime's poller does not watch. The poller would wake for every line that a job
// writes, though nobody wants to read it before the next look. Reading and writing never block in the kernel, so that
// closing never waits and no descriptor is used after it.
type stream struct {
	mu sync.RWMutex
	fd int // -1: closed
}

// unwatched takes a connection out of the poller. It is closed also if that fails.
func unwatched(accepted *net.UnixConn) (*stream, error) {
	defer accepted.Close() // the poller lets go of this descriptor; the other one stays, non-blocking as it was
	raw, err := accepted.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd, duplicate := -1, error(nil)
	err = raw.Control(func(original uintptr) {
		fd, duplicate = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err = errors.Join(err, os.NewSyscallError("fcntl", duplicate)); err != nil {
		return nil, err
	}
	return &stream{fd: fd}, nil
}

// Read returns what is there, unix.EAGAIN if that is nothing.
func (s *stream) Read(into []byte) (int, error) {
	n, err := s.call(into, unix.Read)
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}

// WriteBefore writes all of a line, or fails at a deadline.
func (s *stream) WriteBefore(ctx context.Context, deadline time.Time, line []byte) error {
	for {
		n, err := s.call(line, unix.Write)
		if line = line[n:]; len(line) == 0 {
			return nil
		}
		switch {
		case err == nil:
			continue
		case !errors.Is(err, unix.EAGAIN):
			return err
		case !time.Now().Before(deadline):
			return os.ErrDeadlineExceeded
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(retry):
		}
	}
}

func (s *stream) call(buffer []byte, do func(fd int, buffer []byte) (int, error)) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.fd < 0 {
		return 0, net.ErrClosed
	}
	for {
		n, err := do(s.fd, buffer)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

// Close may be called more than once.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return net.ErrClosed
	}
	fd := s.fd
	s.fd = -1
	return unix.Close(fd)
}

// looks reads a stream now and then. In between lines gather in the kernel's buffer: taking them one by one as they come
// costs several times what they do together. All streams are looked at in the same moments, for each that woke alone would
// cost a switch of threads.
type looks struct {
	*stream
	ctx   context.Context
	every time.Duration
	// since is when the first look of all was.
	since time.Time
	// empty says that the last read has taken all that there was. The first look does not wait.
	empty bool
}

// Read waits for the next look that finds something.
func (l *looks) Read(into []byte) (int, error) {
	for {
		if l.empty {
			select {
			case <-l.ctx.Done():
				return 0, context.Cause(l.ctx)
			case <-time.After(l.every - time.Since(l.since)%l.every):
			}
		}
		n, err := l.stream.Read(into)
		l.empty = n < len(into)
		if !errors.Is(err, unix.EAGAIN) {
			return n, err
		}
	}
}
