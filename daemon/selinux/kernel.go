package selinux

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	attribute = "security.selinux"
	// current is the kernel's file with the label of this process.
	current = "/proc/self/attr/current"
	// maxLabel bounds the length of a label.
	maxLabel = 4096
)

// Kernel returns the labels of this node's files, or nil if the kernel does not use SELinux.
func Kernel() Labels {
	content, err := os.ReadFile(current)
	if err != nil || !isLabel(string(content)) {
		return nil
	}
	return kernel{}
}

// isLabel reports whether a process's security attribute is a label of SELinux: user:role:type:level. That of AppArmor
// is the name of a profile.
func isLabel(text string) bool { return strings.Count(text, ":") >= 3 }

type kernel struct{}

// Get implements Labels.
func (kernel) Get(path string) (string, error) {
	label := make([]byte, maxLabel)
	n, err := unix.Lgetxattr(path, attribute, label)
	switch {
	case errors.Is(err, unix.ENODATA), errors.Is(err, unix.EOPNOTSUPP):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading the SELinux label of %s: %w", path, err)
	}
	return strings.TrimRight(string(label[:n]), "\x00"), nil
}

// Set implements Labels.
func (kernel) Set(path, label string) error { return unix.Lsetxattr(path, attribute, []byte(label), 0) }
