package node

import (
	"fmt"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/peaks"
)

// recommendPeriod is the least time between two events about what a job should request.
const recommendPeriod = time.Hour

// minObserved is the number of blocks of a profile before the first such event.
const minObserved = 4

// reportResources records an event if a job should request something else than it does, once per change of that.
func (n *Node) reportResources(j *job) {
	r := n.advice[j.pod.Ref.UID].Resources
	if r == nil || len(j.profile.use.Blocks) < minObserved || j.pod.Ended() {
		return
	}
	if j.profile.reported != nil && !r.DiffersFrom(*j.profile.reported) {
		return
	}
	parts := n.differing(j, *r)
	if len(parts) == 0 {
		return
	}
	if last, ok := j.eventTimes["ResourcesRecommended"]; ok && n.now.Sub(last) < recommendPeriod {
		return
	}
	j.profile.reported = r
	message := strings.Join(parts, "; ") + ". This follows from " + r.Reason
	if r.Memory != nil && !j.spec.Allows(gpushare.TuneResources) && !n.config.DirectWeights {
		message += ". With resources in gpushare/tune Trellis changes the memory request while the job runs"
	}
	n.event(j, 0, false, "ResourcesRecommended", message)
}

// differing describes the requests that differ noticeably from the recommended ones.
func (n *Node) differing(j *job, r peaks.Recommendation) (parts []string) {
	if m := j.pod.Memory; r.Memory != nil && m.Request > 0 && peaks.MemoryDiffers(m.Request, growth.MiB(r.Memory.Request)) {
		parts = append(parts, fmt.Sprintf("memory: %s requested, %s recommended (peak, 80 %%: %s)", m.Request,
			growth.MiB(r.Memory.Request), n.memoryInterval(j)))
	}
	if cpu := j.original().Sum(); r.CPU != nil && cpu > 0 && peaks.CPUDiffers(cpu, growth.MilliCPU(r.CPU.Request)) {
		parts = append(parts, fmt.Sprintf("CPU: %s requested, %s recommended (peak, 80 %%: %s to %s)", cpu,
			growth.MilliCPU(r.CPU.Request), growth.MilliCPU(r.CPU.Low), growth.MilliCPU(r.CPU.High)))
	}
	if gpu := j.spec.Memory; r.GPUMemory != nil && gpu > 0 && peaks.MemoryDiffers(gpu, growth.MiB(r.GPUMemory.Request)) {
		parts = append(parts, fmt.Sprintf("GPU memory: %s requested, %s recommended (peak, 80 %%: %s to %s)", gpu,
			growth.MiB(r.GPUMemory.Request), growth.MiB(r.GPUMemory.Low), growth.MiB(r.GPUMemory.High)))
	}
	return parts
}

// expectedMemory is the peak of memory that the tuner expects of a job, memoryInterval its interval.
func (n *Node) expectedMemory(j *job) growth.MiB {
	if r := n.advice[j.pod.Ref.UID].Resources; r != nil && r.Memory != nil {
		return growth.MiB(r.Memory.Likely)
	}
	return j.profile.use.Peak().Memory
}

func (n *Node) memoryInterval(j *job) string {
	r := n.advice[j.pod.Ref.UID].Resources
	if r == nil || r.Memory == nil {
		return "unknown"
	}
	return fmt.Sprintf("%s to %s", growth.MiB(r.Memory.Low), growth.MiB(r.Memory.High))
}
