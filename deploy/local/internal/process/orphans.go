package process

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Orphans reaps child processes without a waiter, as an init must: every container leaves one, the short-lived first process
// of its shim, and the number of processes is limited.
type Orphans struct{ before map[Identity]bool }

// Collect reaps the processes that had ended before its last call. Processes with a waiter are reaped at once, so those that
// are still there at the next call have none.
func (o *Orphans) Collect() (collected int) {
	now := map[Identity]bool{}
	for id := range endedChildren() {
		if !o.before[id] {
			now[id] = true
		} else if pid, err := unix.Wait4(id.PID, nil, unix.WNOHANG, nil); err == nil && pid == id.PID {
			collected++
		}
	}
	o.before = now
	return collected
}

// endedChildren are the zombies of the calling process.
func endedChildren() map[Identity]bool {
	ended := map[Identity]bool{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if s, err2 := parseStat(stat); err == nil && err2 == nil && s.ended() && s.parent == os.Getpid() {
			ended[Identity{PID: pid, Start: s.start}] = true
		}
	}
	return ended
}
