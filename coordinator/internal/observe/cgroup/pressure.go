package cgroup

import (
	"path/filepath"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

func (s *Stalled) add(folder string) {
	for name, into := range map[string]*growth.Seconds{
		"cpu.pressure":    &s.CPU,
		"memory.pressure": &s.Memory,
		"io.pressure":     &s.IO,
	} {
		if waited, ok := stalled(folder, name); ok {
			*into = waited
		}
	}
}

// Node returns the stalled time of the whole node, 0 on a kernel without PSI.
func (t *Tree) Node() Stalled {
	var s Stalled
	for name, into := range map[string]*growth.Seconds{
		"cpu":    &s.CPU,
		"memory": &s.Memory,
		"io":     &s.IO,
	} {
		*into, _ = stalled(filepath.Join(t.proc, "pressure"), name)
	}
	return s
}

// stalled reads the total of a PSI file: "some avg10=0.00 avg60=0.00 avg300=0.00 total=<microseconds>".
func stalled(folder, name string) (growth.Seconds, bool) {
	content, ok := read(folder, name)
	if !ok {
		return 0, false
	}
	for line := range strings.Lines(content) {
		_, total, found := strings.Cut(line, "total=")
		if n, ok := parsed(strings.TrimSpace(total)); found && ok && strings.HasPrefix(line, "some ") {
			return growth.Seconds(float64(n) / 1e6), true
		}
	}
	return 0, false
}
