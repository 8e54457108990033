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

// clock is a reading of two clocks of the node: the wall clock, which users and NTP set, and the boot clock, which only
// advances.
type clock struct {
	Set time.Time `json:"set"`
	// Up is the time since the boot that Boot identifies. Boot is empty if both are unknown.
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

// translate converts a wall-clock time that was saved at c to the current wall clock. Time in which the node was off
// does not count: no job runs then, under any policy. Without a boot clock the wall clock is trusted.
func (c clock) translate(saved time.Time, now clock) time.Time {
	switch {
	case c.Boot == "" || now.Boot == "":
		return saved
	case c.Boot != now.Boot:
		return now.Set
	}
	return saved.Add(now.Set.Sub(c.Set) - (now.Up - c.Up).Duration())
}
