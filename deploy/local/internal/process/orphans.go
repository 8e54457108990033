package process

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Orphans collects processes that have ended and that nobody waits for. An init must: every container leaves it one, the
// short-lived half of its shim, and their number is limited.
type Orphans struct{ before map[Identity]bool }

// Collect collects those that had ended before it was called last. Somebody waits for our own programs, whose ends are
// collected at once: what is still there at the next call is nobody's.
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

// endedChildren are the calling process's, not collected yet.
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
