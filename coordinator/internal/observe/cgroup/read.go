package cgroup

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxFile bounds the bytes read of one file.
const maxFile = 16 << 10

// read returns the content of a kernel file. It does not use os.File, which registers such files with the runtime's
// poller: that doubles the system calls from four to eight, and thousands of files are read per minute.
func read(folder, name string) (string, bool) {
	path := filepath.Join(folder, name)
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	var content [maxFile]byte
	for length := 0; ; {
		n, err := retry(func() (int, error) { return unix.Read(fd, content[length:]) })
		if err != nil {
			return "", false
		}
		length += n
		if n == 0 { // end of file, or the buffer is full
			return strings.TrimSpace(string(content[:length])), true
		}
	}
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
