package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// recheckPeriod is the time after which a file that did not exist is looked for again. The kernel creates all files of a
// cgroup at once, but a controller can be enabled later.
const recheckPeriod = time.Minute

// group is the cgroup of a pod in one hierarchy. Half of the files that this package reads exist in the other version of
// cgroups only, so a group remembers which files it does not have.
type group struct {
	folder  string
	absent  map[string]bool
	checked time.Time // when absent was emptied
}

// recheck forgets after recheckPeriod which files do not exist.
func (g *group) recheck(now time.Time) {
	if since := now.Sub(g.checked); since < 0 || since >= recheckPeriod {
		g.absent, g.checked = map[string]bool{}, now
	}
}

// read returns the content of a file of the cgroup.
func (g *group) read(name string) (string, bool) {
	if g.absent[name] {
		return "", false
	}
	content, err := readFile(g.folder, name)
	if errors.Is(err, unix.ENOENT) {
		g.absent[name] = true
	}
	return content, err == nil
}

func (g *group) number(name string) (int64, bool) {
	content, ok := g.read(name)
	if !ok {
		return 0, false
	}
	return parsed(content)
}

func exists(folder string) bool {
	var s unix.Stat_t
	return unix.Stat(folder, &s) == nil
}

// descend visits a cgroup and its descendants, parents first, until visit returns false. A container may create cgroups
// of its own. The monitors of containers are left out.
func descend(folder string, visit func(folder string) bool) bool {
	if !visit(folder) {
		return false
	}
	var s unix.Stat_t
	if unix.Stat(folder, &s) != nil || s.Nlink == 2 { // the links of a cgroup without descendants: its name and "."
		return true
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return true // it has disappeared: pods come and go
	}
	for _, e := range entries {
		if e.IsDir() && !isMonitor(e.Name()) && !descend(filepath.Join(folder, e.Name()), visit) {
			return false
		}
	}
	return true
}
