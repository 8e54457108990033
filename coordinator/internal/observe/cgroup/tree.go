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
	// depth bounds how far below the root a pod is looked for.
	depth = 12
	// searchEvery is how often the whole tree is searched for pods that are not found.
	searchEvery = 2 * time.Second
)

// Tree finds pods' cgroups. It is safe for use from several goroutines.
type Tree struct {
	root string
	proc string

	mu       sync.Mutex
	found    map[growth.PodUID][]string
	tops     int // hierarchies when last searched
	searched time.Time
	delays   map[growth.PodUID]runDelays
}

// New reads below root, usually /sys/fs/cgroup, and what processes tell below proc, usually /proc.
func New(root, proc string) *Tree {
	return &Tree{root: root, proc: proc, found: map[growth.PodUID][]string{}, delays: map[growth.PodUID]runDelays{}}
}

// ErrNotFound means that the pod has no cgroup here: it is not running yet, or no longer.
var ErrNotFound = errors.New("the pod has no cgroup on this node")

// folders returns the pod's cgroup in each hierarchy that has one.
func (t *Tree) folders(pod growth.PodUID, now time.Time) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.found[pod]
	if len(known) > 0 {
		if _, err := os.Stat(known[0]); err != nil {
			known = nil
		}
	}
	// Kubelet makes a pod's folders one hierarchy after the other: a search may have met it half way.
	whole := len(known) > 0 && len(known) == t.tops
	if since := now.Sub(t.searched); !whole && (since < 0 || since >= searchEvery) {
		t.searched, t.found = now, t.search()
		maps.DeleteFunc(t.delays, func(pod growth.PodUID, _ runDelays) bool { return t.found[pod] == nil })
		known = t.found[pod]
	}
	if len(known) == 0 {
		return nil, ErrNotFound
	}
	return known, nil
}

// search finds every pod at once: a walk for one costs what a walk for all does.
func (t *Tree) search() map[growth.PodUID][]string {
	found := map[growth.PodUID][]string{}
	tops := t.hierarchies()
	t.tops = len(tops)
	for _, top := range tops {
		// What vanishes while we walk is no error: pods come and go.
		_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return nil
			}
			if uid, ok := podOf(entry.Name()); ok {
				found[uid] = append(found[uid], path)
				return fs.SkipDir
			}
			if strings.Count(path[len(top):], string(filepath.Separator)) >= depth {
				return fs.SkipDir
			}
			return nil
		})
	}
	return found
}

// hierarchies are where to look: on cgroup v2 the root itself, on v1 the controllers that matter here.
func (t *Tree) hierarchies() []string {
	if _, err := os.Stat(filepath.Join(t.root, "cgroup.controllers")); err == nil {
		return []string{t.root}
	}
	entries, err := os.ReadDir(t.root)
	if err != nil {
		return nil
	}
	var tops []string
	for _, e := range entries {
		ours := func(controller string) bool {
			return slices.Contains([]string{"cpu", "cpuacct", "memory", "blkio"}, controller)
		}
		if e.IsDir() && slices.ContainsFunc(strings.Split(e.Name(), ","), ours) {
			tops = append(tops, filepath.Join(t.root, e.Name()))
		}
	}
	return tops
}

// podOf reads the pod's UID out of a cgroup's name.
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
	return growth.PodUID(uid), len(uid) >= 32 // static pods' UIDs are hashes of 32 digits
}
