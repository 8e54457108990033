package node

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func (e PodUpdated) apply(n *Node) {
	pod := e.Pod
	uid := pod.Ref.UID
	n.updateAssignment(pod)
	n.reportUnknown(pod)
	j := n.jobs[uid]
	switch {
	case !pod.Running && j != nil && n.savesAtEnd(j, pod):
		j.observeEnd(pod)
		n.update(j, pod)
	case !pod.Running && j != nil:
		j.observeEnd(pod)
		n.leave(j)
	case !pod.Running: // the pod is pending or has ended
	case j == nil:
		n.arrive(pod)
	default:
		n.update(j, pod)
	}
}

func (n *Node) update(j *job, pod Pod) {
	before := j.pod
	j.pod = pod
	n.followProcesses(j)
	n.followSave(j)
	n.followPause(j)
	n.followAnnotations(j, before)
	j.refusal.Changed = j.refusal.Changed || pod.differs(before)
	n.observeWriter(j, before.Requests())
	n.observeMemory(j, before.Memory)
	if pod.ResizeStatus != before.ResizeStatus && pod.ResizeStatus.Reason != "" {
		j.pendingSince = n.now
		n.reconcile()
	}
}

// arrive adds the job of a pod that has started to run.
func (n *Node) arrive(pod Pod) {
	uid := pod.Ref.UID
	spec, invalid, err := pod.parseValid()
	if err != nil {
		if n.invalid[uid] != err.Error() {
			n.invalid[uid] = err.Error()
			n.podEvent(pod.Ref, true, "BadAnnotation", err.Error()+". The job runs, but its share is not tuned")
		}
		return
	}
	delete(n.invalid, uid)
	j := &job{
		pod:        pod,
		spec:       spec,
		arrived:    n.now,
		window:     window{since: n.now},
		tracker:    efficiency.New(n.config.efficiency(), spec.Direction),
		category:   growth.Progressing,
		created:    pod.Requests(),
		eventTimes: map[string]time.Time{},
		lifetime:   newLifetime(pod, n.now),
	}
	n.jobs[uid] = j
	if _, resumed := n.pastSamples[uid]; !resumed { // a resumed job is not new to the node
		n.retryRefusals()
	}
	delete(n.ended, uid)
	n.resume(j)
	n.follow(j)
	n.recall(j)
	if pod.Annotations[gpushare.CategoryAnnotation] != string(j.category) {
		n.annotate(pod.Ref, gpushare.CategoryAnnotation, string(j.category))
	}
	n.resumeYield(j)
	if by := pod.Memory.ResizedBy; by != "" && by != gpushare.FieldManager {
		n.yieldMemory(j, fmt.Sprintf("%s has set it to %s", by, pod.Memory.Request))
	}
	n.announceArrival(j, true)
	n.announceDirection(j)
	n.reportScheduler(j)
	n.explainFixed(j)
	if invalid != nil {
		n.event(j, 0, true, "BadAnnotation", invalid.Error()+". The job goes on as if it had no such annotation")
	}
	n.log(Info, "job arrived", "job", pod.Ref, "uid", uid, "category", j.category, "progress", spec.Progress.Source)
	n.syncSlots()
	n.deliver(j)
	n.followSave(j)
	n.followPause(j)
	n.interrupt("arrival", true)
}

// follow requests that the job's log or file is read, unless the job reports through its socket.
func (n *Node) follow(j *job) {
	if j.spec.Progress.Source == gpushare.FromSocket {
		return
	}
	n.out.Follow = append(n.out.Follow, Follow{
		Pod:       j.pod.Ref,
		Container: j.pod.Trainer(),
		Metric:    j.spec.Metric,
		Progress:  j.spec.Progress,
		Resumed:   growth.Category(j.pod.Annotations[gpushare.CategoryAnnotation]).Valid(),
	})
}

func (e PodDeleted) apply(n *Node) {
	delete(n.invalid, e.Pod)
	delete(n.unknown, e.Pod)
	delete(n.assignments, e.Pod)
	delete(n.pastSamples, e.Pod)
	delete(n.pastRefusals, e.Pod)
	delete(n.pastYields, e.Pod)
	j := n.jobs[e.Pod]
	if j == nil {
		return
	}
	if e.CPU != nil {
		n.finished = append(n.finished, fairfinish.Job{
			ID:       e.Pod,
			Used:     growth.Work(*e.CPU),
			Limit:    j.pod.Limit(),
			Finished: true,
		})
	}
	if e.GPU != nil {
		n.gpuFinished = append(n.gpuFinished, fairfinish.Job{ID: e.Pod, Used: growth.Work(*e.GPU), Finished: true})
	}
	n.leave(j)
}

// leave removes a job that has ended.
func (n *Node) leave(j *job) {
	uid := j.pod.Ref.UID
	n.announceEnd(j)
	n.hush(j)
	n.thaw(j)
	if j.spec.Progress.Source != gpushare.FromSocket {
		n.out.Unfollow = append(n.out.Unfollow, uid)
	}
	delete(n.jobs, uid)
	n.rememberRun(j)
	if len(n.jobs) == 0 {
		n.out.Persist = true
	}
	n.retryRefusals()
	n.ended[uid] = true
	n.out.Forget = append(n.out.Forget, uid)
	n.syncSlots()
	n.sendTurns()
	n.log(Info, "job left", "job", j.pod.Ref, "uid", uid, "category", j.category, "step", j.latest.Step)
	n.interrupt("departure", true)
}

func (e CapacityChanged) apply(n *Node) {
	if e.CPU != n.allocatable && n.allocatable != 0 { // the first value is not a change
		n.retryRefusals()
	}
	n.allocatable = e.CPU
	n.publishLoad()
}
