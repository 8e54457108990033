package loader

import "github.com/trellis-gpu/trellis/growth"

const (
	// sharedMemoryPart is the part of /dev/shm that workers may fill, in percent. The rest covers peaks between two
	// readings.
	sharedMemoryPart = 75
	// unobservedWorker is the assumed use of /dev/shm by a worker that has not been observed: two prefetched batches of
	// 128 MiB.
	unobservedWorker growth.MiB = 256
)

// SharedMemory is the state of a pod's /dev/shm. Worker processes pass batches through it, and a job that fills it is
// killed by SIGBUS.
type SharedMemory struct {
	Size, Used growth.MiB
	// PerWorker is the most that was used for each worker per device: by one worker of each of the job's devices.
	PerWorker growth.MiB
	// Observed is set once PerWorker was measured while workers ran.
	Observed bool
}

// Limit returns the largest number of workers per device that fit, but at least present, the number that the job runs
// with. Before a worker was observed, a job that was advised to use none may have one: it called for workers itself.
func (m SharedMemory) Limit(present, width int, advised bool) int {
	usable := m.Size * sharedMemoryPart / 100
	fitting := MaxLoaders
	switch {
	case !m.Observed:
		fitting = int(max(0, usable-m.Used) / (unobservedWorker * growth.MiB(max(1, width))))
		if advised {
			fitting = max(fitting, 1)
		}
	case m.PerWorker > 0:
		fitting = int(min(usable/m.PerWorker, MaxLoaders))
	}
	return min(max(fitting, present), MaxLoaders)
}

// limit returns the largest number of workers per device that the job may be given.
func (r Running) limit() int {
	if r.Limit == nil {
		return MaxLoaders
	}
	return *r.Limit
}
