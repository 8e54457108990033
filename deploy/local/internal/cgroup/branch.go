package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Branch is the cgroups of a cluster in all hierarchies.
type Branch struct {
	hierarchies []Hierarchy
	name        string
}

// BranchOf returns the branch of a cluster, which need not exist yet.
func BranchOf(cluster string) (Branch, error) {
	hs, err := Mounted()
	return Branch{hierarchies: hs, name: "trellis-" + cluster}, err
}

// Path is the group's path below each hierarchy's mount, the form of kubelet's cgroupRoot.
func (b Branch) Path(sub string) string { return "/" + filepath.Join(b.name, sub) }

// Create creates the group in every hierarchy. cpus restricts it to cores ("0", "2-3"); empty: no restriction.
func (b Branch) Create(sub, cpus string) error {
	for _, h := range b.hierarchies {
		if err := h.create(filepath.Join(b.name, sub), cpus); err != nil {
			return fmt.Errorf("create cgroup %s in %s: %w", b.Path(sub), h.Mount, err)
		}
	}
	return nil
}

// create creates the levels of path from the top: each inherits from its parent.
func (h Hierarchy) create(path, cpus string) error {
	level := h.Mount
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if h.V2 {
			handDown(level)
		}
		parent := level
		level = filepath.Join(level, part)
		if err := os.Mkdir(level, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		want := ""
		if i == len(parts)-1 {
			want = cpus
		}
		if err := h.fillCPUs(parent, level, want); err != nil {
			return err
		}
	}
	return nil
}

// handDown enables the controllers of a v2 level for its children, one by one. It skips those that cannot be enabled; kubelet
// reports the ones that it needs.
func handDown(level string) {
	list, _ := os.ReadFile(filepath.Join(level, "cgroup.controllers"))
	for _, c := range strings.Fields(string(list)) {
		_ = os.WriteFile(filepath.Join(level, "cgroup.subtree_control"), []byte("+"+c), 0)
	}
}

// fillCPUs sets a level's cores. On v1 an empty cpuset takes no process, so it is copied from the parent.
func (h Hierarchy) fillCPUs(parent, level, cpus string) error {
	if !slices.Contains(h.offered(), "cpuset") {
		return nil
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value := cpus
		if file == "cpuset.mems" || cpus == "" {
			if h.V2 {
				continue
			}
			inherited, err := os.ReadFile(filepath.Join(parent, file))
			if err != nil {
				return err
			}
			value = strings.TrimSpace(string(inherited))
		}
		if err := os.WriteFile(filepath.Join(level, file), []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

// Join moves the calling process into the group of every hierarchy. Its future children start there.
func (b Branch) Join(sub string) error { return b.enter(filepath.Join(b.name, sub)) }

// Leave moves the calling process out of the branch, so that the branch can be removed.
func (b Branch) Leave() error { return b.enter("") }

func (b Branch) enter(path string) error {
	for _, h := range b.hierarchies {
		// "0" is the writer itself, in any PID namespace.
		err := os.WriteFile(filepath.Join(h.Mount, path, "cgroup.procs"), []byte("0"), 0)
		if err != nil {
			return fmt.Errorf("move into cgroup /%s of %s: %w", path, h.Mount, err)
		}
	}
	return nil
}

// Groups lists the branch's groups of every hierarchy, children before parents.
func (b Branch) Groups() []string {
	var dirs []string
	for _, h := range b.hierarchies {
		_ = filepath.WalkDir(filepath.Join(h.Mount, b.name), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil // a group may be removed meanwhile
		})
	}
	slices.Reverse(dirs)
	return dirs
}

// PIDs lists every process in the branch.
func (b Branch) PIDs() []int {
	var pids []int
	for _, dir := range b.Groups() {
		list, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, field := range strings.Fields(string(list)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// Kill ends every process in the branch except the caller.
func (b Branch) Kill(limit time.Duration) error {
	self := os.Getpid()
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		pids := slices.DeleteFunc(b.PIDs(), func(pid int) bool { return pid == self })
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v in cgroup %s did not end", pids, b.Path(""))
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// Remove deletes the branch's groups; they must hold no process. The kernel may need a moment after the last exit.
func (b Branch) Remove(limit time.Duration) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		var errs []error
		for _, dir := range b.Groups() {
			if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		if len(errs) == 0 || time.Now().After(deadline) {
			return errors.Join(errs...)
		}
	}
}
