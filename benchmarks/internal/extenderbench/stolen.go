package extenderbench

import (
	"os"
	"strconv"
	"strings"
)

// ticks are what the processors of the machine have spent their time on since it began, all together, proc_stat(5): user,
// nice, system, idle, iowait, irq, softirq, steal. What is counted as guest is counted as user, too.
type ticks [8]uint64

const steal = 7

// clocks reads them; they are zero where the kernel does not tell.
func clocks() ticks {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return ticks{}
	}
	return parseClocks(string(stat))
}

func parseClocks(stat string) (all ticks) {
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

// stolenSince is which part of the time since before a hypervisor gave to other machines while this one wanted it, in per
// cent; 0 where it is not known, or no time has passed.
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
