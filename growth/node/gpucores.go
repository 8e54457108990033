package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// bound returns the largest part of the time that gpushare/gpu-cores leaves to a job. Under MPS the driver bounds the threads of
// its kernels instead: with both bounds the job would get a part of a part.
func (g gpuJob) bound() growth.Share {
	if cores := g.leader().spec.Cores; cores > 0 && !g.overlaps {
		return growth.Share(cores) / 100
	}
	return 1
}

// announceCores records once that gpushare/gpu-cores has no effect, and why. Where jobs take turns it bounds the job's share
// while others compete. Under MPS the driver enforces it.
func (n *Node) announceCores(j *job, why string) {
	if j.spec.Cores == 0 || j.spec.Cores == 100 || n.overlaps(n.gpus(j.pod.Ref.UID)) {
		return
	}
	n.event(j, oncePerJob, false, "GPUCoresNoEffect",
		fmt.Sprintf("%s: %d has no effect: %s", gpushare.CoresAnnotation, j.spec.Cores, why))
}
