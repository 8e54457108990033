package extenderbench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is Linux's unit of a process's time, which user space has seen as a hundredth of a second for ever.
const clockTick = 10 * time.Millisecond

// cpu is the time that the program has computed for, in user space and in the kernel; zero where it can not be told.
func (p *process) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the name before it may hold anything
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	ticks := int64(0)
	for _, field := range fields[11:13] { // utime and stime, proc(5)
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick
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
