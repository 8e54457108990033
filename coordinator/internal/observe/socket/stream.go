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

// retryDelay is the time between two attempts to write to a full socket buffer.
const retryDelay = 10 * time.Millisecond

// stream is a job's connection outside the runtime's poller. The poller would wake for each line that a job writes,
// although lines are only read at the next poll. Reads and writes never block in the kernel, so Close never waits for
// them, and the lock prevents the use of a closed descriptor.
type stream struct {
	mu sync.RWMutex
	fd int // -1: closed
}

// detach takes a connection out of the runtime's poller. It closes the connection if that fails.
func detach(accepted *net.UnixConn) (*stream, error) {
	defer accepted.Close() // closes the descriptor in the poller; the non-blocking duplicate stays open
	raw, err := accepted.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var dupErr error
	err = raw.Control(func(original uintptr) {
		fd, dupErr = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0)
	})
	err = errors.Join(err, os.NewSyscallError("fcntl", dupErr))
	if err != nil {
		return nil, err
	}
	return &stream{fd: fd}, nil
}

// Read reads without blocking. It returns unix.EAGAIN if there is no data.
func (s *stream) Read(into []byte) (int, error) {
	n, err := s.call(into, unix.Read)
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}

// WriteBefore writes a whole line. It returns os.ErrDeadlineExceeded if the line is not written before the deadline.
func (s *stream) WriteBefore(ctx context.Context, deadline time.Time, line []byte) error {
	for {
		n, err := s.call(line, unix.Write)
		line = line[n:]
		if len(line) == 0 {
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
		case <-time.After(retryDelay):
		}
	}
}

// call makes one read or write call on the descriptor, and retries it if a signal interrupted it.
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

// Close closes the connection. It may be called more than once.
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

// poller reads a stream once per period. In between, the kernel buffers lines: reading them one by one costs several times
// as much as reading them together. All streams are polled at the same moments, since each separate wake-up costs a context
// switch.
type poller struct {
	*stream
	ctx    context.Context
	period time.Duration
	// start is the time of the first poll of all streams. Polls are at start plus multiples of period.
	start time.Time
	// before is called before each wait.
	before func()
	// drains receives requests to poll at once. Their channels are closed when all that was sent before is handled.
	drains <-chan chan<- struct{}
	open   []chan<- struct{} // requests that are being followed
	// empty means that the last read returned all data, so that the next read waits for the next poll.
	empty bool
}

// Read waits for the next poll that finds data.
func (p *poller) Read(into []byte) (int, error) {
	for {
		if p.empty {
			p.before()
			p.drained()
			select {
			case <-p.ctx.Done():
				return 0, context.Cause(p.ctx)
			case request := <-p.drains:
				p.open = append(p.open, request)
			case <-time.After(p.period - time.Since(p.start)%p.period):
			}
		}
		n, err := p.stream.Read(into)
		p.empty = n < len(into)
		if !errors.Is(err, unix.EAGAIN) {
			return n, err
		}
	}
}

// drained answers the requests to poll at once.
func (p *poller) drained() {
	for _, request := range p.open {
		close(request)
	}
	p.open = nil
}
