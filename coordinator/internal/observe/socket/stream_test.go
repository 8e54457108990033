package socket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// pair returns a stream and the job's end of it.
func pair(t *testing.T) (*stream, *net.UnixConn) {
	t.Helper()
	at := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"}
	l, err := net.ListenUnix("unix", at)
	require.NoError(t, err)
	defer l.Close()
	job, err := net.DialUnix("unix", nil, at)
	require.NoError(t, err)
	t.Cleanup(func() { _ = job.Close() })
	accepted, err := l.AcceptUnix()
	require.NoError(t, err)
	s, err := detach(accepted)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s, job
}

func TestStream_NeverBlocks(t *testing.T) {
	s, job := pair(t)
	into := make([]byte, 8)
	_, err := s.Read(into)
	require.ErrorIs(t, err, unix.EAGAIN)

	_, err = job.Write([]byte("two\nlines\n"))
	require.NoError(t, err)
	n, err := s.Read(into)
	require.NoError(t, err)
	require.Equal(t, "two\nline", string(into[:n]))

	require.NoError(t, s.WriteBefore(t.Context(), time.Now(), []byte("answer")))
	n, err = job.Read(into)
	require.NoError(t, err)
	require.Equal(t, "answer", string(into[:n]))

	require.NoError(t, job.Close())
	n, err = s.Read(into)
	require.NoError(t, err, "data written before the close")
	require.Equal(t, "s\n", string(into[:n]))
	_, err = s.Read(into)
	require.ErrorIs(t, err, io.EOF)
	require.ErrorIs(t, s.WriteBefore(t.Context(), time.Now(), []byte("x")), unix.EPIPE)
}

func TestStream_WriteFailsIfTheJobDoesNotRead(t *testing.T) {
	s, job := pair(t)
	much := bytes.Repeat([]byte("m"), 1<<22)
	require.ErrorIs(t, s.WriteBefore(t.Context(), time.Now().Add(50*time.Millisecond), much), os.ErrDeadlineExceeded)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.WriteBefore(canceled, time.Now().Add(time.Hour), much), context.Canceled)

	var reader sync.WaitGroup
	written := make([]byte, len(much)/4)
	reader.Go(func() { _, _ = io.Copy(io.Discard, job) })
	deadline := time.Now().Add(time.Minute)
	require.NoError(t, s.WriteBefore(t.Context(), deadline, written), "a job that reads late receives everything")
	require.NoError(t, s.Close())
	reader.Wait()
}

// The kernel reuses the number of a closed descriptor. A stream that still used it would access another file.
func TestStream_DoesNotUseAClosedDescriptor(t *testing.T) {
	s, job := pair(t)
	number := s.fd
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for into := make([]byte, 8); ; {
				if n, err := s.Read(into); !errors.Is(err, unix.EAGAIN) {
					if n != 0 || !errors.Is(err, net.ErrClosed) {
						t.Errorf("%d bytes, %v", n, err)
					}
					return
				}
			}
		})
	}
	require.NoError(t, s.Close())
	users.Wait()
	_, err := job.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "no other descriptor keeps it open")

	other, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(other)
	if other != number {
		require.NoError(t, unix.Dup3(other, number, unix.O_CLOEXEC))
		defer unix.Close(number)
	}
	require.ErrorIs(t, s.Close(), net.ErrClosed)
	require.ErrorIs(t, s.WriteBefore(t.Context(), time.Now().Add(time.Hour), []byte("x")), net.ErrClosed)
	_, err = unix.FcntlInt(uintptr(number), unix.F_GETFD, 0)
	require.NoError(t, err, "the other file is still open")
}

func TestPoller_ReadsAtMultiplesOfThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const period = 500 * time.Millisecond
		start := time.Now()
		s, job := pair(t)
		poller := &poller{
			stream: s,
			ctx:    t.Context(),
			period: period,
			start:  start,
			before: func() {},
		}
		poll := func() (string, time.Duration) {
			into := make([]byte, 4)
			n, err := poller.Read(into)
			require.NoError(t, err)
			return string(into[:n]), time.Since(start)
		}
		send := func(line string) {
			_, err := job.Write([]byte(line))
			require.NoError(t, err)
		}

		send("a\n")
		line, at := poll()
		require.Equal(t, "a\n", line)
		require.Zero(t, at, "the first poll does not wait")

		time.Sleep(120 * time.Millisecond)
		send("bcdefg\n")
		line, at = poll()
		require.Equal(t, "bcde", line)
		require.Equal(t, period, at)
		line, at = poll()
		require.Equal(t, "fg\n", line)
		require.Equal(t, period, at, "the rest of the data is read at once")

		go func() {
			time.Sleep(3*period + time.Millisecond)
			send("h\n")
		}()
		line, at = poll()
		require.Equal(t, "h\n", line)
		require.Equal(t, 5*period, at, "polls without data continue")
	})
}
