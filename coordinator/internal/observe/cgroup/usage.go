package cgroup

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Usage is the resource usage of a pod. Fields that could not be read are zero.
type Usage struct {
	// CPU is the CPU time consumed since the pod was created, in core-seconds.
	CPU      growth.Seconds
	CPUKnown bool
	// Memory is the memory in use, without inactive page cache.
	Memory growth.MiB
	// SharedMemory is the shared memory in use: /dev/shm, other tmpfs mounts and anonymous mappings.
	SharedMemory      growth.MiB
	SharedMemoryKnown bool
	// Weight is cpu.shares on cgroup version 1 and cpu.weight on version 2; 0 if unknown.
	Weight int64
	// Version is the cgroup version of Weight: 1 or 2.
	Version int
	// BlockIO is the bytes read from and written to block devices since the pod was created; 0 if unknown.
	BlockIO int64
	// NetworkIO is the bytes received and sent since the pod was created; 0 if unknown.
	NetworkIO int64
	// Stalled is the time in which some task of the pod waited for a resource (PSI); zero on cgroup v1 or without PSI.
	Stalled Stalled
	// Queued is the time that the pod was runnable without running: Stalled.CPU, or without PSI the sum over its
	// threads, which counts the time twice if two threads wait.
	Queued      growth.Seconds
	QueuedKnown bool
}

// Stalled is the time that tasks waited, by resource.
type Stalled struct{ CPU, Memory, IO growth.Seconds }

// Usage reads the usage of a pod from its cgroups.
func (t *Tree) Usage(pod growth.PodUID, now time.Time) (Usage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	groups, err := t.groups(pod, now)
	if err != nil {
		return Usage{}, fmt.Errorf("pod %s: %w", pod, err)
	}
	var u Usage
	for _, g := range groups {
		g.recheck(now)
		u.addCPU(g)
		u.addWeight(g)
		stat, _ := g.read("memory.stat")
		u.addMemory(g, stat)
		u.addSharedMemory(stat)
		u.addBlockIO(g)
		u.addStalled(g)
	}
	u.NetworkIO = t.network(groups)
	if !u.QueuedKnown {
		u.Queued, u.QueuedKnown = t.queued(pod, groups)
	}
	return u, nil
}

func (u *Usage) addCPU(g *group) {
	if ns, ok := g.number("cpuacct.usage"); ok {
		u.CPU, u.CPUKnown = growth.Seconds(float64(ns)/1e9), true
		return
	}
	stat, _ := g.read("cpu.stat")
	if us, ok := field(stat, "usage_usec"); ok && !u.CPUKnown {
		u.CPU, u.CPUKnown = growth.Seconds(float64(us)/1e6), true
	}
}

func (u *Usage) addWeight(g *group) {
	if shares, ok := g.number("cpu.shares"); ok {
		u.Weight, u.Version = shares, 1
	} else if weight, ok := g.number("cpu.weight"); ok {
		u.Weight, u.Version = weight, 2
	}
}

func (u *Usage) addMemory(g *group, stat string) {
	bytes, ok := g.number("memory.usage_in_bytes")
	inactive, _ := field(stat, "total_inactive_file")
	if !ok {
		if bytes, ok = g.number("memory.current"); !ok {
			return
		}
		inactive, _ = field(stat, "inactive_file")
	}
	u.Memory = growth.MiB(max(bytes-inactive, 0) >> 20)
}

// field returns a value of a file with lines of a key and a value.
func field(content, key string) (int64, bool) {
	for line := range strings.Lines(content) {
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			return parsed(strings.TrimSpace(value))
		}
	}
	return 0, false
}

// parsed parses a counter. A value above the range of int64 (an unlimited counter) becomes the maximum.
func parsed(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return int64(min(n, math.MaxInt64)), err == nil
}
