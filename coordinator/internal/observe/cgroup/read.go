package cgroup

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxFile bounds what is read of a cgroup file.
const maxFile = 16 << 10

// read returns what a file of the kernel's says. It does without os.File, which has the runtime's poller watch the file, as
// these may be: that makes eight system calls of four, and thousands of files are read in a minute.
func read(folder, name string) (string, bool) {
	fd, err := again(func() (int, error) { return unix.Open(filepath.Join(folder, name), unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	var content [maxFile]byte
	for length := 0; ; {
		n, err := again(func() (int, error) { return unix.Read(fd, content[length:]) })
		if err != nil {
			return "", false
		}
		if length += n; n == 0 { // the end, or all that there is room for
			return strings.TrimSpace(string(content[:length])), true
		}
	}
}

// again makes a system call until no signal interrupts it.
func again(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
