package cgroup

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// leastID is the shortest container ID that is looked for: a part of another's name must not pass for one.
const leastID = 12

// Processes lists the processes of a container, given its ID as the runtime knows it, by their numbers in this
// process' own PID namespace: 0 for one outside of it.
func (t *Tree) Processes(pod growth.PodUID, container string) ([]int, error) {
	if len(container) < leastID {
		return nil, fmt.Errorf("container %q of pod %s: %w", container, pod, ErrNotFound)
	}
	folders, err := t.folders(pod, time.Now())
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", pod, err)
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() && strings.Contains(e.Name(), container) {
				if pids := processes(filepath.Join(folder, e.Name())); len(pids) > 0 {
					return pids, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("container %s of pod %s: %w", container, pod, ErrNotFound)
}

// processes reads a cgroup's, or the first's below that has some: a container may divide its own further.
func processes(folder string) []int {
	var pids []int
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		content, _ := read(path, "cgroup.procs")
		for _, word := range strings.Fields(content) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
		if len(pids) > 0 {
			return fs.SkipAll
		}
		return nil
	})
	return pids
}
