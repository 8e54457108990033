package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// minID is the length of the shortest container ID that is accepted. A shorter one could match other names.
const minID = 12

// Populated reports whether a pod has processes, also in a container of which kubelet no longer knows.
func (t *Tree) Populated(pod growth.PodUID, now time.Time) bool {
	folders, _ := t.folders(pod, now)
	return slices.ContainsFunc(folders, func(folder string) bool { return len(processes(folder)) > 0 })
}

// Processes lists the process IDs of a container, given the container ID of the runtime. The IDs are those of this
// process's PID namespace. A process outside the namespace has ID 0.
func (t *Tree) Processes(pod growth.PodUID, container string) ([]int, error) {
	var pids []int
	err := t.findContainer(pod, container, func(folder string) bool {
		pids = processes(folder)
		return len(pids) > 0
	})
	return pids, err
}

// Container returns the folder of a container's cgroup: the one with the freezer of cgroup v2, if there is one.
func (t *Tree) Container(pod growth.PodUID, container string) (found string, err error) {
	err = t.findContainer(pod, container, func(folder string) bool {
		found = folder
		if hasFreezer(folder) {
			return true
		}
		if second := t.unified(folder); hasFreezer(second) {
			found = second
			return true
		}
		return false
	})
	if found != "" {
		err = nil
	}
	return found, err
}

func hasFreezer(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "cgroup.freeze"))
	return err == nil
}

// unified returns the folder of the same cgroup in the hierarchy of version 2 that a node with version 1 may have next to the
// others, without controllers but with the freezer.
func (t *Tree) unified(folder string) string {
	relative := strings.TrimPrefix(folder, t.root+string(filepath.Separator))
	_, path, _ := strings.Cut(relative, string(filepath.Separator))
	return filepath.Join(t.root, "unified", path)
}

// findContainer calls a function with the cgroups of a container, one for each hierarchy, until it accepts one.
func (t *Tree) findContainer(pod growth.PodUID, container string, accept func(folder string) bool) error {
	if len(container) < minID {
		return fmt.Errorf("container %q of pod %s: %w", container, pod, ErrNotFound)
	}
	folders, err := t.folders(pod, time.Now())
	if err != nil {
		return fmt.Errorf("pod %s: %w", pod, err)
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() && isContainer(e.Name(), container) && accept(filepath.Join(folder, e.Name())) {
				return nil
			}
		}
	}
	return fmt.Errorf("container %s of pod %s: %w", container, pod, ErrNotFound)
}

// isContainer reports whether a name is that of a container's cgroup: its ID, after the prefix of the runtime.
func isContainer(name, id string) bool {
	return strings.HasSuffix(strings.TrimSuffix(name, ".scope"), id) && !isMonitor(name)
}

// isMonitor reports whether a name is that of the cgroup of conmon, the process with which CRI-O monitors a container. CRI-O may keep it
// next to the container, as crio-conmon-<id>.scope. conmon runs in the namespaces of the host, and must not be frozen.
func isMonitor(name string) bool { return strings.Contains(name, "conmon-") }

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
