package cgroup

import (
	"path/filepath"
	"strconv"
	"strings"
)

// addBlockIO adds the block I/O of a cgroup, on cgroup v1 or v2.
func (u *Usage) addBlockIO(g *group) {
	if content, ok := g.read("io.stat"); ok { // cgroup v2: "8:0 rbytes=1 wbytes=2 rios=3 …"
		for word := range strings.FieldsSeq(content) {
			name, value, _ := strings.Cut(word, "=")
			if n, ok := parsed(value); ok && (name == "rbytes" || name == "wbytes") {
				u.BlockIO = sum(u.BlockIO, n)
			}
		}
		return
	}
	content, ok := g.read("blkio.throttle.io_service_bytes_recursive")
	if !ok {
		return
	}
	for line := range strings.Lines(content) { // cgroup v1: "8:0 Read 1", at the end "Total 3"
		if words := strings.Fields(line); len(words) == 3 && (words[1] == "Read" || words[1] == "Write") {
			if n, ok := parsed(words[2]); ok {
				u.BlockIO = sum(u.BlockIO, n)
			}
		}
	}
}

// network returns the bytes received and sent by the pod's interfaces, read through one of its processes; 0 without the
// host's PID namespace. For a pod with hostNetwork these are the interfaces of the node.
func (t *Tree) network(groups []*group) int64 {
	for _, g := range groups {
		pids := processes(g.folder)
		if len(pids) == 0 || pids[0] == 0 {
			continue
		}
		content, _ := read(filepath.Join(t.proc, strconv.Itoa(pids[0]), "net"), "dev")
		return interfaceBytes(content)
	}
	return 0
}

// interfaceBytes adds up the received and sent bytes of a table in the format of /proc/net/dev, without the loopback
// interface. The table has two header lines, then lines of "eth0: <received> (7 columns) <sent> (7 columns)".
func interfaceBytes(table string) int64 {
	var total int64
	for line := range strings.Lines(table) {
		name, counts, ok := strings.Cut(line, ":")
		words := strings.Fields(counts)
		if !ok || strings.TrimSpace(name) == "lo" || len(words) < 9 {
			continue
		}
		received, in := parsed(words[0])
		sent, out := parsed(words[8])
		if in && out {
			total = sum(total, sum(received, sent))
		}
	}
	return total
}

// sum adds two non-negative numbers. If the sum overflows, it returns a alone.
func sum(a, b int64) int64 {
	if c := a + b; c >= a {
		return c
	}
	return a
}
