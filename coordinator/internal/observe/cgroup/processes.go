package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// minID is the length of the shortest container ID that Processes accepts. A shorter one could match other names.
const minID = 12

// Processes lists the process IDs of a container, given the container ID of the runtime. The IDs are those of this
// process's PID namespace. A process outside the namespace has ID 0.
func (t *Tree) Processes(pod growth.PodUID, container string) ([]int, error) {
	if len(container) < minID {
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

// processes lists the process IDs in a cgroup. If it has none they are those of the first descendant that has some: a
// container may create cgroups of its own.
func processes(folder string) []int {
	var pids []int
	descend(folder, func(folder string) bool {
		content, _ := read(folder, "cgroup.procs")
		for _, word := range strings.Fields(content) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
		return len(pids) == 0
	})
	return pids
}
