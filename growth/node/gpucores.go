package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// announceCores records once that gpushare/gpu-cores has no effect, and why. Where jobs take turns it bounds the job's share
// while others compete. Under MPS the driver enforces it.
func (n *Node) announceCores(j *job, why string) {
	if j.spec.Cores == 0 || j.spec.Cores == 100 || n.sharedByMPS {
		return
	}
	n.event(j, oncePerJob, false, "GPUCoresNoEffect",
		fmt.Sprintf("%s: %d has no effect: %s", gpushare.CoresAnnotation, j.spec.Cores, why))
}
