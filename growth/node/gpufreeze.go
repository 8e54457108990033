package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// freezes returns the container that is frozen between the turns of a job; empty if the job is not paused in this way.
//
// A job is frozen only if the driver sees one process on one GPU, and its pod has one container: of several processes some
// would wait for the frozen ones in a collective operation, or lose a connection. Clients of MPS are never frozen, since a
// frozen client may hold up the server that all of them share.
func (n *Node) freezes(j gpuJob) string {
	lead := j.leader()
	switch {
	case !n.config.Freeze || j.overlaps || j.gpu.unfreezable:
	case len(j.pods) > 1 || len(j.gpus) > 1 || len(j.pod.Containers) != 1 || lead.settings.worldSize() > 1:
	case !j.gpu.busy.known() || j.gpu.busy.processes != 1:
	case !lead.spec.Allows(gpushare.TuneGPUTime) || j.pod.Distributed || !j.pod.Running:
	case n.pauses(j):
	default:
		return j.pod.Trainer().ID
	}
	return ""
}

// pauses reports whether the job waits for its turns itself, or may soon.
func (n *Node) pauses(j gpuJob) bool {
	connected := !j.gpu.gated.IsZero() && n.now.Sub(j.gpu.gated) < connectTime
	return connected || j.leader().spec.Progress.Source == gpushare.FromSocket && n.connecting(j)
}

// announceFreezing records once that a job was frozen between two turns.
func (n *Node) announceFreezing(j gpuJob) {
	n.event(j.job, oncePerJob, false, "GPUTimeFrozen",
		fmt.Sprintf("The job takes turns on %s with other jobs. It does not use the shim, so its processes are frozen between its turns, "+
			"for some seconds each time: they answer no probe and no connection then. To opt out, leave gpu-time out of %s",
			gpuNames(j.gpus), gpushare.TuneAnnotation))
}
