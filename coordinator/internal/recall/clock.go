package recall

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/growth"
)

// bootID is where the kernel says which start of the node this is.
const bootID = "/proc/sys/kernel/random/boot_id"

// clock is one moment by two clocks of the node: the one that is set, by people and by NTP, and the one that only goes on.
type clock struct {
	Set time.Time `json:"set"`
	// Up is the time since the node's start, and Boot which start that was; it is empty where neither is known.
	Up   growth.Seconds `json:"up"`
	Boot string         `json:"boot"`
}

// read looks at both.
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

// translate says when a time that was noted at c is by the clock as it is set now. While the node was off no time passed: it
// served nobody, and would have served nobody under fair sharing. Where only the clock that is set is known, it is believed.
func (c clock) translate(noted time.Time, now clock) time.Time {
	switch {
	case c.Boot == "" || now.Boot == "":
		return noted
	case c.Boot != now.Boot:
		return now.Set
	}
	return noted.Add(now.Set.Sub(c.Set) - (now.Up - c.Up).Duration())
}
