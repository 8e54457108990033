package cgroup

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Usage is what a pod uses. A part that could not be read is absent.
type Usage struct {
	// CPU is the time consumed since the pod was made, in core seconds.
	CPU      growth.Seconds
	CPUKnown bool
	// Memory is what is resident, without page cache that could go.
	Memory growth.MiB
	// Weight is cpu.shares or cpu.weight, 0 where unknown; Version says which: 1 or 2.
	Weight  int64
	Version int
	// BlockIO is what was read from and written to disks, NetworkIO received and sent, since the pod was made, in bytes:
	// 0 where unknown.
	BlockIO, NetworkIO int64
	// Stalled is for how long some process of the pod has waited for a resource that others had (PSI); zero where the
	// kernel does not say: on cgroup v1, or without PSI.
	Stalled Stalled
	// Queued is for how long the pod has been ready to run while others ran: Stalled.CPU, or where the kernel does not tell
	// that the sum over its threads, which is more where several wait at once.
	Queued      growth.Seconds
	QueuedKnown bool
}

// Stalled is time spent waiting, in seconds, by resource.
type Stalled struct{ CPU, Memory, IO growth.Seconds }

// Usage reads a pod's cgroup.
func (t *Tree) Usage(pod growth.PodUID, now time.Time) (Usage, error) {
	folders, err := t.folders(pod, now)
	if err != nil {
		return Usage{}, fmt.Errorf("pod %s: %w", pod, err)
	}
	var u Usage
	for _, folder := range folders {
		u.addCPU(folder)
		u.addWeight(folder)
		u.addMemory(folder)
		u.addBlockIO(folder)
		u.Stalled.add(folder)
	}
	u.NetworkIO = t.network(folders)
	u.Queued, u.QueuedKnown = t.queued(pod, folders)
	return u, nil
}

func (u *Usage) addCPU(folder string) {
	if ns, ok := number(folder, "cpuacct.usage"); ok {
		u.CPU, u.CPUKnown = growth.Seconds(float64(ns)/1e9), true
	} else if us, ok := field(folder, "cpu.stat", "usage_usec"); ok && !u.CPUKnown {
		u.CPU, u.CPUKnown = growth.Seconds(float64(us)/1e6), true
	}
}

func (u *Usage) addWeight(folder string) {
	if shares, ok := number(folder, "cpu.shares"); ok {
		u.Weight, u.Version = shares, 1
	} else if weight, ok := number(folder, "cpu.weight"); ok {
		u.Weight, u.Version = weight, 2
	}
}

func (u *Usage) addMemory(folder string) {
	bytes, ok := number(folder, "memory.usage_in_bytes")
	inactive, _ := field(folder, "memory.stat", "total_inactive_file")
	if !ok {
		if bytes, ok = number(folder, "memory.current"); !ok {
			return
		}
		inactive, _ = field(folder, "memory.stat", "inactive_file")
	}
	u.Memory = growth.MiB(max(bytes-inactive, 0) >> 20)
}

// SharesOf is the cpu.shares that kubelet writes on cgroup v1 for a request, its own formula.
func SharesOf(request growth.MilliCPU) int64 {
	return min(max(int64(request)*1024/1000, 2), 262144)
}

func number(folder, name string) (int64, bool) {
	content, ok := read(folder, name)
	if !ok {
		return 0, false
	}
	return parsed(content)
}

func field(folder, name, key string) (int64, bool) {
	content, _ := read(folder, name)
	for line := range strings.Lines(content) {
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			return parsed(strings.TrimSpace(value))
		}
	}
	return 0, false
}

// parsed reads a count; what exceeds an int64 (an unlimited counter) saturates.
func parsed(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return int64(min(n, math.MaxInt64)), err == nil
}
