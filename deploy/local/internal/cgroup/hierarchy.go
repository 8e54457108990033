package cgroup

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Hierarchy is one mounted cgroup file system.
type Hierarchy struct {
	Mount       string
	Controllers []string // v1 only
	V2          bool
}

// controllers are the v1 controllers by name, as opposed to mount options such as "rw".
var controllers = []string{"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "hugetlb",
	"net_cls", "net_prio", "perf_event", "rdma", "misc"}

// Mounted lists the machine's hierarchies.
func Mounted() ([]Hierarchy, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found, err := parse(f)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no cgroup file system is mounted: kubelet needs cgroups (v1 or v2) under /sys/fs/cgroup")
	}
	return found, nil
}

// parse reads mountinfo(5): "… mount-point options [tags] - type source super-options". A hierarchy that is mounted
// more than once counts once, at its first mount point.
func parse(r io.Reader) ([]Hierarchy, error) {
	var found []Hierarchy
	seen := map[string]bool{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		device, root, mount := left[2], left[3], left[4]
		if root != "/" || seen[device] {
			continue
		}
		switch right[0] {
		case "cgroup2":
			found = append(found, Hierarchy{Mount: mount, V2: true})
		case "cgroup":
			found = append(found, Hierarchy{Mount: mount, Controllers: controllersIn(right[2])})
		default:
			continue
		}
		seen[device] = true
	}
	return found, lines.Err()
}

func controllersIn(options string) []string {
	return slices.DeleteFunc(strings.Split(options, ","), func(o string) bool {
		return !slices.Contains(controllers, o) && !strings.HasPrefix(o, "name=")
	})
}

// offered lists the hierarchy's controllers. The v2 hierarchy of a hybrid machine has none.
func (h Hierarchy) offered() []string {
	if !h.V2 {
		return h.Controllers
	}
	list, _ := os.ReadFile(h.Mount + "/cgroup.controllers")
	return strings.Fields(string(list))
}

// Missing lists the controllers that kubelet needs and no hierarchy offers.
func Missing(hs []Hierarchy) []string {
	var offered []string
	for _, h := range hs {
		offered = append(offered, h.offered()...)
	}
	needed := []string{"cpu", "cpuset", "memory", "pids"}
	return slices.DeleteFunc(needed, func(c string) bool { return slices.Contains(offered, c) })
}
