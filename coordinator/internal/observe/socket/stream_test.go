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

// pair is a stream and the job at its other end.
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
	s, err := unwatched(accepted)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s, job
}

func TestAStreamNeverWaits(t *testing.T) {
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
	require.NoError(t, err, "what was written before the end")
	require.Equal(t, "s\n", string(into[:n]))
	_, err = s.Read(into)
	require.ErrorIs(t, err, io.EOF)
	require.ErrorIs(t, s.WriteBefore(t.Context(), time.Now(), []byte("x")), unix.EPIPE)
}

func TestAWriteGivesUpOnAJobThatDoesNotRead(t *testing.T) {
	s, job := pair(t)
	much := bytes.Repeat([]byte("m"), 1<<22)
	require.ErrorIs(t, s.WriteBefore(t.Context(), time.Now().Add(50*time.Millisecond), much), os.ErrDeadlineExceeded)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.WriteBefore(over, time.Now().Add(time.Hour), much), context.Canceled)

	slowly, written := sync.WaitGroup{}, make([]byte, len(much)/4)
	slowly.Go(func() { _, _ = io.Copy(io.Discard, job) })
	require.NoError(t, s.WriteBefore(t.Context(), time.Now().Add(time.Minute), written), "one that reads at last has all of it")
	require.NoError(t, s.Close())
	slowly.Wait()
}

// Another file gets the number of a descriptor as soon as it is closed: who still used it would read a stranger's.
func TestAClosedStreamTouchesNoDescriptor(t *testing.T) {
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
	require.ErrorIs(t, err, io.EOF, "nobody else holds it open")

	stranger, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(stranger)
	if stranger != number {
		require.NoError(t, unix.Dup3(stranger, number, unix.O_CLOEXEC))
		defer unix.Close(number)
	}
	require.ErrorIs(t, s.Close(), net.ErrClosed)
	require.ErrorIs(t, s.WriteBefore(t.Context(), time.Now().Add(time.Hour), []byte("x")), net.ErrClosed)
	_, err = unix.FcntlInt(uintptr(number), unix.F_GETFD, 0)
	require.NoError(t, err, "the stranger's is still open")
}

func TestLooksAreAtTheSameMomentsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const every = 500 * time.Millisecond
		began := time.Now()
		s, job := pair(t)
		looks := &looks{stream: s, ctx: t.Context(), every: every, since: began}
		look := func() (string, time.Duration) {
			into := make([]byte, 4)
			n, err := looks.Read(into)
			require.NoError(t, err)
			return string(into[:n]), time.Since(began)
		}
		say := func(line string) { _, err := job.Write([]byte(line)); require.NoError(t, err) }

		say("a\n")
		line, at := look()
		require.Equal(t, "a\n", line)
		require.Zero(t, at, "the first look does not wait")

		time.Sleep(120 * time.Millisecond)
		say("bcdefg\n")
		line, at = look()
		require.Equal(t, "bcde", line)
		require.Equal(t, every, at)
		line, at = look()
		require.Equal(t, "fg\n", line)
		require.Equal(t, every, at, "what did not fit is read at once")

		go func() { time.Sleep(3*every + time.Millisecond); say("h\n") }()
		line, at = look()
		require.Equal(t, "h\n", line)
		require.Equal(t, 5*every, at, "looks that find nothing go on")
	})
}
