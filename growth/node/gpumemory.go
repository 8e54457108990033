package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/peaks"
)

// gpuMemoryUse is the memory that a job has on each of its GPUs: by its framework's reports, and by the driver.
func (n *Node) gpuMemoryUse(j *job) peaks.Use {
	uid := j.pod.Ref.UID
	return peaks.Use{
		GPUReserved: j.settings.gpuMemory(len(n.gpus(uid))),
		GPUUsed:     n.gpuMemory[uid],
	}
}

// batchMemory is the memory that a job needs at its present batch size, as it is compared with gpushare/gpu-mem.
func (n *Node) batchMemory(j *job) growth.MiB {
	if memory := n.gpuMemoryUse(j).GPU(); memory > 0 {
		return memory
	}
	return j.usage.Memory // the job has no GPU
}

// gpuMemoryPeak is what the job has used on each GPU at most, for people; nil if that is unknown.
func (j *job) gpuMemoryPeak() *bus.GPUMemory {
	peak := j.profile.use.Peak()
	if peak.GPU() == 0 {
		return nil
	}
	return &bus.GPUMemory{Peak: peak.GPU(), Requested: j.spec.Memory, Measured: peak.GPUUsed > 0}
}

// recommendedGPUMemory is what the tuner recommends to request on each GPU; nil if it knows nothing.
func (n *Node) recommendedGPUMemory(j *job) *peaks.Request {
	if r := n.advice[j.pod.Ref.UID].Resources; r != nil {
		return r.GPUMemory
	}
	return nil
}
