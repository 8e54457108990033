package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// reportScheduler records that another scheduler has placed the job, when it first arrives. Admission only warns about such
// a pod, and the users of a Job never see the warning.
func (n *Node) reportScheduler(j *job) {
	scheduler := j.pod.Scheduler
	if scheduler == "" || scheduler == gpushare.SchedulerName {
		return
	}
	if growth.Category(j.pod.Annotations[gpushare.CategoryAnnotation]).Valid() { // an earlier coordinator has reported it
		return
	}
	n.event(j, oncePerJob, true, "OtherScheduler", fmt.Sprintf("The scheduler %s has placed this pod. Unless it calls the "+
		"extender of Trellis, it has not considered which GPU has room, and which jobs run there. Leave schedulerName out",
		scheduler))
}
