package extenderbench

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpu returns the program's CPU time, user and system; zero if it is unknown.
func (p *process) cpu() time.Duration {
	// The clock of a process, as clock_getcpuclockid(3) builds it, of the time that its threads were scheduled.
	const scheduled = 2
	var spent unix.Timespec
	if err := unix.ClockGettime(int32(^p.PID()<<3|scheduled), &spent); err != nil {
		return 0
	}
	return time.Duration(spent.Nano())
}

// meter returns a function that computes the CPU time of each program since the call, in milliseconds per pod.
func meter(programs map[string]*process) func(pods int) map[string]float64 {
	before := map[string]time.Duration{}
	for name, p := range programs {
		before[name] = p.cpu()
	}
	return func(pods int) map[string]float64 {
		spent := map[string]float64{}
		for name, p := range programs {
			spent[name] = milliseconds(p.cpu()-before[name]) / float64(pods)
		}
		return spent
	}
}
