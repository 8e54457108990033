package signalsave

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/save"
)

// maxDescriptors bounds the open files of a process that are looked at.
const maxDescriptors = 4096

// isWritten reports whether a process of the container has a file open for writing.
func (s Saver) isWritten(r node.SignalSave, f save.File) bool {
	pids, _ := s.pids(r)
	for _, pid := range pids {
		folder := filepath.Join(s.Proc, strconv.Itoa(pid))
		entries, _ := os.ReadDir(filepath.Join(folder, "fd")) // none of a process that has ended
		for _, e := range entries[:min(len(entries), maxDescriptors)] {
			var stat unix.Stat_t
			if unix.Stat(filepath.Join(folder, "fd", e.Name()), &stat) != nil {
				continue
			}
			same := described(stat)
			if same.Device == f.Device && same.Inode == f.Inode && writable(filepath.Join(folder, "fdinfo", e.Name())) {
				return true
			}
		}
	}
	return false
}

// writable reads the flags of an open file, which are octal.
func writable(fdinfo string) bool {
	content, _ := os.ReadFile(fdinfo)
	_, rest, _ := strings.Cut(string(content), "flags:")
	line, _, _ := strings.Cut(rest, "\n")
	flags, err := strconv.ParseUint(strings.TrimSpace(line), 8, 64)
	return err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY
}
