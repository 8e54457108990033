package cgroup

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// addSharedMemory adds the shared memory of a cgroup and its descendants, rounded up. Both versions count it in
// memory.stat. The name for descendants exists on version 1 only; a kernel before 4.19 does not count shared memory there.
func (u *Usage) addSharedMemory(stat string) {
	bytes, ok := field(stat, "total_shmem")
	if !ok {
		bytes, ok = field(stat, "shmem")
	}
	if ok {
		u.SharedMemory, u.SharedMemoryKnown = growth.MiB(roundUp(bytes)>>20), true
	}
}

// roundUp rounds up to whole MiB, and returns the largest multiple for a counter near the end of its range.
func roundUp(bytes int64) int64 {
	const mib = 1 << 20
	if bytes > math.MaxInt64-mib {
		return math.MaxInt64
	}
	return bytes + mib - 1
}
