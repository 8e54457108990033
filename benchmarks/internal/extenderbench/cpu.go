package extenderbench

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpu is the time that the program has computed for, in user space and in the kernel; zero where it can not be told.
func (p *process) cpu() time.Duration {
	// The clock of a process, as clock_getcpuclockid(3) makes it: of what its threads were scheduled for.
	const scheduled = 2
	var spent unix.Timespec
	if err := unix.ClockGettime(int32(^p.command.Process.Pid<<3|scheduled), &spent); err != nil {
		return 0
	}
	return time.Duration(spent.Nano())
}

// meter tells what each of some programs computes from now on, in milliseconds for each of so many pods.
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
