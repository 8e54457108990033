package node

import "github.com/trellis-gpu/trellis/growth/bus"

// sharedMemory returns the job's /dev/shm for its sample, or nil if its size or use is unknown.
func (j *job) sharedMemory() *bus.SharedMemory {
	if j.pod.SharedMemory == 0 || !j.usage.SharedMemoryKnown {
		return nil
	}
	return &bus.SharedMemory{Size: j.pod.SharedMemory, Used: j.usage.SharedMemory}
}

// announceLimit records what keeps the advice from being larger, once per job.
func (n *Node) announceLimit(j *job) {
	if j.advice.Limit != "" {
		n.event(j, oncePerJob, true, "LoadersLimited", "Data-loader workers: "+j.advice.Limit)
	}
}
