package cgroup

import (
	"path/filepath"
	"strconv"
	"strings"
)

func (u *Usage) addBlockIO(folder string) {
	if content, ok := read(folder, "io.stat"); ok { // v2: "8:0 rbytes=1 wbytes=2 rios=3 …"
		for word := range strings.FieldsSeq(content) {
			name, value, _ := strings.Cut(word, "=")
			if n, ok := parsed(value); ok && (name == "rbytes" || name == "wbytes") {
				u.BlockIO = sum(u.BlockIO, n)
			}
		}
		return
	}
	content, ok := read(folder, "blkio.throttle.io_service_bytes_recursive")
	if !ok {
		return
	}
	for line := range strings.Lines(content) { // v1: "8:0 Read 1", and "Total 3" at the end
		if words := strings.Fields(line); len(words) == 3 && (words[1] == "Read" || words[1] == "Write") {
			if n, ok := parsed(words[2]); ok {
				u.BlockIO = sum(u.BlockIO, n)
			}
		}
	}
}

// network sums what the pod's interfaces have moved, as one of its processes sees them. It takes the node's process
// IDs; without them it is unknown. A pod on the node's own network is told the node's.
func (t *Tree) network(folders []string) int64 {
	for _, folder := range folders {
		pids := processes(folder)
		if len(pids) == 0 || pids[0] == 0 {
			continue
		}
		content, _ := read(filepath.Join(t.proc, strconv.Itoa(pids[0]), "net"), "dev")
		return moved(content)
	}
	return 0
}

// moved sums the bytes of a table of interfaces, the loopback's left out: two lines of heading, then
// "eth0: <received> and seven more, <sent> and seven more".
func moved(table string) int64 {
	var all int64
	for line := range strings.Lines(table) {
		name, counts, ok := strings.Cut(line, ":")
		words := strings.Fields(counts)
		if !ok || strings.TrimSpace(name) == "lo" || len(words) < 9 {
			continue
		}
		received, in := parsed(words[0])
		sent, out := parsed(words[8])
		if in && out {
			all = sum(all, sum(received, sent))
		}
	}
	return all
}

// sum saturates.
func sum(a, b int64) int64 {
	if c := a + b; c >= a {
		return c
	}
	return a
}
