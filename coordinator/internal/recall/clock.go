package recall

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/growth"
)

// bootID is the kernel's identifier of this boot.
const bootID = "/proc/sys/kernel/random/boot_id"

// clock is one moment by two clocks of the node: the wall clock, which people and NTP set, and the boot clock, which only
// advances.
type clock struct {
	Set time.Time `json:"set"`
	// Up is the time since the boot that Boot identifies. Boot is empty where neither is known.
	Up   growth.Seconds `json:"up"`
	Boot string         `json:"boot"`
}

// read reads both clocks.
func read() clock {
	c := clock{Set: time.Now()}
	id, err := os.ReadFile(bootID)
	var up unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return c
	}
	c.Up, c.Boot = growth.Seconds(time.Duration(up.Nano()).Seconds()), strings.TrimSpace(string(id))
	return c
}

// translate converts a wall-clock time that was written at c to the wall clock as it is set now. No time passes while the
// node is off: it serves no job, and would serve none under fair sharing. Without a boot clock the wall clock is trusted.
func (c clock) translate(noted time.Time, now clock) time.Time {
	switch {
	case c.Boot == "" || now.Boot == "":
		return noted
	case c.Boot != now.Boot:
		return now.Set
	}
	return noted.Add(now.Set.Sub(c.Set) - (now.Up - c.Up).Duration())
}
