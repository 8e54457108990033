package podlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// Folder returns the folder in which kubelet keeps the logs of a container.
func Folder(root string, pod growth.PodRef, container string) string {
	return filepath.Join(root, pod.Namespace+"_"+pod.Name+"_"+string(pod.UID), container)
}

// newest returns the highest restart number that has a file, or −1.
func (t *Tail) newest() (int, error) {
	entries, err := os.ReadDir(t.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, fmt.Errorf("looking for a container's log: %w", err)
	}
	newest := -1
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".log"); ok {
			if n, err := strconv.Atoi(name); err == nil {
				newest = max(newest, n)
			}
		}
	}
	return newest, nil
}

func (t *Tail) path(number int) string {
	return filepath.Join(t.folder, strconv.Itoa(number)+".log")
}

// openError explains why a log cannot be opened. Docker's logs are symbolic links into Docker's own folder.
func openError(path string, err error) error {
	if target, linkErr := os.Readlink(path); linkErr == nil && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is a symbolic link to %s, which the coordinator cannot see: an administrator can mount that folder by deploy/components/docker-logs",
			path, target)
	}
	return fmt.Errorf("opening a container's log: %w", err)
}
