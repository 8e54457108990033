package cgroup

import (
	"path/filepath"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// addStalled adds the stalled times of a cgroup, on cgroup v2.
func (u *Usage) addStalled(g *group) {
	if waited, ok := stalledIn(g, "cpu.pressure"); ok {
		u.Stalled.CPU = waited
		u.Queued, u.QueuedKnown = waited, true
	}
	if waited, ok := stalledIn(g, "memory.pressure"); ok {
		u.Stalled.Memory = waited
	}
	if waited, ok := stalledIn(g, "io.pressure"); ok {
		u.Stalled.IO = waited
	}
}

func stalledIn(g *group, name string) (growth.Seconds, bool) {
	content, ok := g.read(name)
	if !ok {
		return 0, false
	}
	return stalled(content)
}

// Node returns the stalled time of the whole node, 0 on a kernel without PSI.
func (t *Tree) Node() Stalled {
	var s Stalled
	for name, into := range map[string]*growth.Seconds{
		"cpu":    &s.CPU,
		"memory": &s.Memory,
		"io":     &s.IO,
	} {
		if content, ok := read(filepath.Join(t.proc, "pressure"), name); ok {
			*into, _ = stalled(content)
		}
	}
	return s
}

// stalled reads the total of a PSI file: "some avg10=0.00 avg60=0.00 avg300=0.00 total=<microseconds>".
func stalled(content string) (growth.Seconds, bool) {
	for line := range strings.Lines(content) {
		_, total, found := strings.Cut(line, "total=")
		if n, ok := parsed(strings.TrimSpace(total)); found && ok && strings.HasPrefix(line, "some ") {
			return growth.Seconds(float64(n) / 1e6), true
		}
	}
	return 0, false
}
