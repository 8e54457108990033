package cgroup

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// maxDepth bounds the levels below the root that are searched.
	maxDepth = 12
	// searchPeriod is the minimum time between two searches of the whole tree for a missing pod.
	searchPeriod = 2 * time.Second
)

// Tree finds the cgroups of pods. It is safe for concurrent use.
type Tree struct {
	root string
	proc string

	mu          sync.Mutex
	found       map[growth.PodUID][]*group
	hierarchies int // number of hierarchies at the last search
	searched    time.Time
	delays      map[growth.PodUID]runDelays
}

// New returns the tree of cgroups mounted at root, usually /sys/fs/cgroup, with the processes of the procfs mounted at
// proc, usually /proc.
func New(root, proc string) *Tree {
	return &Tree{root: root, proc: proc, found: map[growth.PodUID][]*group{}, delays: map[growth.PodUID]runDelays{}}
}

// ErrNotFound means that the pod has no cgroup on this node: it is not running yet, or no longer.
var ErrNotFound = errors.New("the pod has no cgroup on this node")

// folders returns the folder of the pod's cgroup in each hierarchy that has one.
func (t *Tree) folders(pod growth.PodUID, now time.Time) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	groups, err := t.groups(pod, now)
	folders := make([]string, len(groups))
	for i, g := range groups {
		folders[i] = g.folder
	}
	return folders, err
}

// groups returns the pod's cgroup in each hierarchy that has one. The caller must hold t.mu.
func (t *Tree) groups(pod growth.PodUID, now time.Time) ([]*group, error) {
	known := t.found[pod]
	if len(known) > 0 && !exists(known[0].folder) {
		known = nil
	}
	// kubelet creates a pod's cgroups one hierarchy after the other, and a search may run in between.
	complete := len(known) > 0 && len(known) == t.hierarchies
	since := now.Sub(t.searched)
	if !complete && (since < 0 || since >= searchPeriod) {
		t.searched = now
		t.found = t.search()
		maps.DeleteFunc(t.delays, func(pod growth.PodUID, _ runDelays) bool { return t.found[pod] == nil })
		known = t.found[pod]
	}
	if len(known) == 0 {
		return nil, ErrNotFound
	}
	return known, nil
}

// search finds the cgroups of all pods: a walk for one pod costs as much as a walk for all.
func (t *Tree) search() map[growth.PodUID][]*group {
	found := map[growth.PodUID][]*group{}
	tops := t.listHierarchies()
	t.hierarchies = len(tops)
	for _, top := range tops {
		// A cgroup that disappears during the walk is not an error: pods come and go.
		_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return nil
			}
			if uid, ok := podOf(entry.Name()); ok {
				found[uid] = append(found[uid], &group{folder: path})
				return fs.SkipDir
			}
			if strings.Count(path[len(top):], string(filepath.Separator)) >= maxDepth {
				return fs.SkipDir
			}
			return nil
		})
	}
	return found
}

// listHierarchies returns the folders to search: the root on cgroup v2, the folders of the controllers that this
// package reads on cgroup v1.
func (t *Tree) listHierarchies() []string {
	if _, err := os.Stat(filepath.Join(t.root, "cgroup.controllers")); err == nil {
		return []string{t.root}
	}
	entries, err := os.ReadDir(t.root)
	if err != nil {
		return nil
	}
	var tops []string
	for _, e := range entries {
		used := func(controller string) bool {
			return slices.Contains([]string{"cpu", "cpuacct", "memory", "blkio"}, controller)
		}
		if e.IsDir() && slices.ContainsFunc(strings.Split(e.Name(), ","), used) {
			tops = append(tops, filepath.Join(t.root, e.Name()))
		}
	}
	return tops
}

// podOf returns the pod UID in a cgroup's name.
func podOf(name string) (growth.PodUID, bool) {
	uid, ok := strings.CutPrefix(name, "pod")
	if !ok {
		slice, systemd := strings.CutSuffix(name, ".slice")
		at := strings.LastIndex(slice, "-pod")
		if !systemd || at < 0 || !strings.HasPrefix(slice, "kubepods") {
			return "", false
		}
		uid = strings.ReplaceAll(slice[at+len("-pod"):], "_", "-")
	}
	return growth.PodUID(uid), len(uid) >= 32 // the UID of a static pod is a hash of 32 digits
}
