package node

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/rightsize"
)

const (
	// memoryPending is the time after which a change that kubelet defers is given back.
	memoryPending = 30 * time.Second
	// memoryLost is the time after which a change without any result is tried again.
	memoryLost = 2 * time.Minute
)

// PodMemory is the memory request of the container that trains.
type PodMemory struct {
	// Container has the Request and the Limit in the spec; 0 if there is none. Allocated is the request that kubelet has
	// admitted; 0 if unknown.
	Container                 string
	Request, Limit, Allocated growth.MiB
	// Fixed is the reason why the request cannot be changed; empty if it can.
	Fixed string
	// ResizedBy is the field manager that wrote the request through the resize subresource; empty if none did.
	ResizedBy string
}

// MemoryResize is a change of the memory request of a container.
type MemoryResize struct {
	Pod       growth.PodRef
	Container string
	From, To  growth.MiB
	// Original is the value of the annotation that preserves the request with which the pod was created; empty if the pod
	// has it.
	Original string
}

// MemoryResized has the result of a MemoryResize. Quota is the name of the quota of ResizeOverQuota.
type MemoryResized struct {
	Resize MemoryResize
	Result ResizeResult
	Err    string
	Quota  string
}

// memoryRequest is the change of a job's memory request that was not seen to take effect yet.
type memoryRequest struct {
	schedule rightsize.Schedule
	asked    *MemoryResize
	at       time.Time // of asked
	undoes   bool      // asked gives an earlier change back
}

// tuneMemory changes the memory request of a job if its user permits that and it is worth it.
func (n *Node) tuneMemory(j *job) {
	if !j.spec.Allows(gpushare.TuneResources) || j.pod.Ended() {
		return
	}
	why := j.pod.Memory.Fixed
	if n.config.DirectWeights {
		why = "the coordinator of this cluster changes weights of cgroups, and no requests of pods (--enforce=cgroup)"
	}
	if why != "" {
		n.event(j, oncePerJob, false, "MemoryNotTuned", "The memory request of this job is left alone: "+why)
		return
	}
	if j.memory.asked != nil {
		n.awaitMemory(j)
		return
	}
	r := n.advice[j.pod.Ref.UID].Resources
	if r == nil || r.Memory == nil {
		return
	}
	m := j.pod.Memory
	to := rightsize.Memory(rightsize.Container{
		Request: m.Request,
		Limit:   m.Limit,
		Peak:    j.profile.use.Peak().Memory,
	}, growth.MiB(r.Memory.Request))
	if to != m.Request && j.memory.schedule.Due(j.profile.use, to < m.Request, n.now) {
		n.resizeMemory(j, to, false)
	}
}

func (n *Node) resizeMemory(j *job, to growth.MiB, undoes bool) {
	m := j.pod.Memory
	r := MemoryResize{Pod: j.pod.Ref, Container: m.Container, From: m.Request, To: to}
	if j.pod.Annotations[gpushare.MemoryRequestAnnotation] == "" && !undoes {
		r.Original = fmt.Sprintf("%s=%dMi", m.Container, m.Request)
	}
	j.memory.asked, j.memory.at, j.memory.undoes = &r, n.now, undoes
	n.out.MemoryResizes = append(n.out.MemoryResizes, r)
}

// awaitMemory waits until kubelet has applied a change. A change that kubelet does not apply is given back.
func (n *Node) awaitMemory(j *job) {
	asked, waited := *j.memory.asked, n.now.Sub(j.memory.at)
	status := j.pod.ResizeStatus
	switch {
	case j.pod.Memory.Allocated == asked.To && j.pod.Memory.Request == asked.To:
		n.memoryApplied(j, asked)
	case j.pod.Memory.Request == asked.To && status.Reason != "" && !j.memory.undoes && (status.Infeasible() || waited >= memoryPending):
		n.refuseMemory(j, asked, "kubelet: "+status.Message)
		n.resizeMemory(j, asked.From, true)
	case waited >= memoryLost:
		n.log(Warn, "a memory request has no effect yet and is decided again", "job", j.pod.Ref, "from", asked.From, "to", asked.To)
		j.memory.asked = nil
		j.memory.schedule = j.memory.schedule.Refused(n.now)
	}
}

func (n *Node) memoryApplied(j *job, r MemoryResize) {
	j.memory.asked = nil
	n.log(Info, "memory request changed", "job", r.Pod, "from", r.From, "to", r.To)
	if j.memory.undoes {
		return
	}
	j.memory.schedule = j.memory.schedule.Applied(n.now)
	n.event(j, time.Second, false, "MemoryRequestChanged", fmt.Sprintf(
		"Memory request: %s → %s, applied by kubelet. The largest use so far is %s; %s is expected (80 %%: %s). The limit is not changed",
		r.From, r.To, j.profile.use.Peak().Memory, n.expectedMemory(j), n.memoryInterval(j)))
}

func (n *Node) refuseMemory(j *job, r MemoryResize, why string) {
	j.memory.asked = nil
	j.memory.schedule = j.memory.schedule.Refused(n.now)
	n.log(Warn, "memory request refused", "job", r.Pod, "from", r.From, "to", r.To, "err", why)
	n.event(j, refusalPeriod, true, "MemoryResizeRefused", fmt.Sprintf("A memory request of %s was refused; it stays %s. %s", r.To, r.From, why))
}

func (e MemoryResized) apply(n *Node) {
	j := n.jobs[e.Resize.Pod.UID]
	if j == nil || j.memory.asked == nil || *j.memory.asked != e.Resize {
		return
	}
	switch e.Result {
	case ResizeAccepted: // kubelet applies it, see awaitMemory
	case ResizeGone:
		j.memory.asked = nil
	case ResizeConflict:
		n.yieldMemory(j, e.Err)
	case ResizeOverQuota:
		n.refuseMemory(j, e.Resize, fmt.Sprintf("Quota %s of namespace %s is used up: raise its requests.memory, or let other pods of the "+
			"namespace request less. %s", e.Quota, e.Resize.Pod.Namespace, e.Err))
	case ResizeRejected:
		n.refuseMemory(j, e.Resize, "The API server: "+e.Err)
	default:
		j.memory.asked = nil
		j.memory.schedule = j.memory.schedule.Refused(n.now)
		n.log(Warn, "a memory request could not be changed and will be decided again", "job", e.Resize.Pod, "err", e.Err)
	}
}

// observeMemory gives way for an hour if a client other than this node has changed the memory request of a job.
func (n *Node) observeMemory(j *job, before PodMemory) {
	now := j.pod.Memory
	changed := before.Container == now.Container && before.Request != now.Request
	if !changed || now.ResizedBy == gpushare.FieldManager || j.memory.asked != nil && j.memory.asked.To == now.Request {
		return
	}
	n.yieldMemory(j, fmt.Sprintf("%s has set it to %s", writerName(now.ResizedBy), now.Request))
}

func (n *Node) yieldMemory(j *job, why string) {
	j.memory.asked = nil
	j.memory.schedule = j.memory.schedule.Yield(n.now)
	if !j.spec.Allows(gpushare.TuneResources) {
		return
	}
	n.event(j, refusalPeriod, false, "MemoryNotTuned", fmt.Sprintf("The memory request of this job is left alone: %s, and two writers would undo "+
		"each other's changes. To have it tuned, exclude its memory from the other controller. Tuning resumes an hour after the last change", why))
}

func writerName(manager string) string {
	if manager == "" {
		return "another client"
	}
	return manager
}
