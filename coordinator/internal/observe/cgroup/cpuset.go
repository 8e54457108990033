package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// CPUs returns the number of CPUs to which kubelet's CPU manager has bound a container. It returns false if the container
// may use all CPUs of its pod's cgroup, which are those of the node, or if the cgroup cannot be read.
func (t *Tree) CPUs(pod growth.PodUID, container string) (int, bool) {
	folders, err := t.folders(pod, time.Now())
	if err != nil || len(container) < minID {
		return 0, false
	}
	for _, folder := range folders {
		for _, candidate := range []string{folder, t.cpusetFolder(folder)} {
			entries, err := os.ReadDir(candidate)
			if err != nil {
				continue
			}
			for _, e := range entries {
				if !e.IsDir() || !isContainer(e.Name(), container) {
					continue
				}
				cpus, ok := cpusOf(filepath.Join(candidate, e.Name()), "cpuset.cpus")
				if ok {
					all, known := cpusOf(candidate, "cpuset.cpus.effective", "cpuset.cpus")
					return cpus, known && cpus < all
				}
			}
		}
	}
	return 0, false
}

// cpusOf counts the CPUs in the first of the files that has a list.
func cpusOf(folder string, names ...string) (int, bool) {
	for _, name := range names {
		if list, ok := read(folder, name); ok && list != "" {
			return countCPUs(list)
		}
	}
	return 0, false
}

// cpusetFolder returns the folder in the cpuset hierarchy of cgroup v1 that corresponds to a folder of another one.
func (t *Tree) cpusetFolder(folder string) string {
	below, err := filepath.Rel(t.root, folder)
	if err != nil {
		return folder
	}
	_, path, _ := strings.Cut(below, string(filepath.Separator))
	return filepath.Join(t.root, "cpuset", path)
}

// countCPUs counts the CPUs of a list in the kernel's format: "0-3,7".
func countCPUs(list string) (count int, ok bool) {
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		first, last, isRange := strings.Cut(part, "-")
		low, err := strconv.ParseUint(first, 10, 16)
		if err != nil {
			return 0, false
		}
		high := low
		if isRange {
			if high, err = strconv.ParseUint(last, 10, 16); err != nil || high < low {
				return 0, false
			}
		}
		count += int(high-low) + 1
	}
	return count, true
}
