package extenderbench

import (
	"os"
	"strconv"
	"strings"
)

// ticks are the times of all processors since boot, from proc_stat(5): user, nice, system, idle, iowait, irq,
// softirq, steal. Guest time is included in user.
type ticks [8]uint64

const steal = 7

// readTicks reads the ticks. They are zero if the kernel does not provide them.
func readTicks() ticks {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return ticks{}
	}
	return parseTicks(string(stat))
}

func parseTicks(stat string) (all ticks) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) <= len(all) || fields[0] != "cpu" {
		return ticks{}
	}
	for i := range all {
		n, err := strconv.ParseUint(fields[1+i], 10, 64)
		if err != nil {
			return ticks{}
		}
		all[i] = n
	}
	return all
}

// stolenSince returns the steal time since before, as a percentage of all processor time. It is 0 if the ticks are unknown
// or no time has passed.
func (t ticks) stolenSince(before ticks) float64 {
	passed := 0.0
	for i := range t {
		passed += float64(t[i]) - float64(before[i])
	}
	if passed <= 0 {
		return 0
	}
	return 100 * (float64(t[steal]) - float64(before[steal])) / passed
}
