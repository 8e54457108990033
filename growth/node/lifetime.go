package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// totals are sums over a job's lifetime. They survive a restart of the coordinator.
type totals struct {
	// Shared is the time in which the job had a share of the pool, Held the integral of the share over that time.
	Shared growth.Seconds `json:"shared,omitempty"`
	Held   growth.Seconds `json:"held,omitempty"`
	// Paused is the time in which the user had paused the job.
	Paused growth.Seconds `json:"paused,omitempty"`
	// GPUHeld is the time in which the job has computed on its GPUs, GPUWaited the time in which it was ready and others had the turn.
	GPUHeld   growth.Seconds `json:"gpuHeld,omitempty"`
	GPUWaited growth.Seconds `json:"gpuWaited,omitempty"`
	// Resizes is the number of changes of the job's CPU request.
	Resizes int `json:"resizes,omitempty"`
	// First is the first value of the metric.
	First *float64 `json:"first,omitempty"`
	// ShareKept is set once an event has said that the job keeps its share although it has converged.
	ShareKept bool `json:"shareKept,omitempty"`
	// TargetReached is the declared target that the metric has reached.
	TargetReached string `json:"targetReached,omitempty"`
	// Deadline is the status of the deadline that the last event about it has named.
	Deadline deadline.Status `json:"deadline,omitempty"`
}

// lifetime is what the events about a job's arrival and end need.
type lifetime struct {
	totals

	arrivalDue bool      // the arrival has not been announced yet
	began      time.Time // when the node first saw the pod running
	counted    bool      // the job's steps are the number of its reports
	since      time.Time // the time up to which Shared and Held are known
	ended      time.Time // when the job's processes were first seen to have ended; zero while they run
	fair       string    // comparison with fair sharing at that time
}

// newLifetime starts the lifetime of a job. A pod with a category has been announced by an earlier coordinator.
func newLifetime(pod Pod, now time.Time) lifetime {
	known := growth.Category(pod.Annotations[gpushare.CategoryAnnotation]).Valid()
	return lifetime{arrivalDue: !known, began: now}
}

// state returns the totals to save; nil if there are none.
func (t totals) state() *totals {
	if t == (totals{}) {
		return nil
	}
	return &t
}

// hold adds the share that the job has had since the last call.
func (l *lifetime) hold(share growth.Share, now time.Time) {
	if elapsed := now.Sub(l.since).Seconds(); !l.since.IsZero() && share > 0 && elapsed > 0 {
		l.Shared += growth.Seconds(elapsed)
		l.Held += growth.Seconds(elapsed * float64(share))
	}
	l.since = now
}

// followProcesses takes a job out of the pool when its processes end, which is before kubelet reports the end of the pod,
// and puts it back when its container starts again.
func (n *Node) followProcesses(j *job) {
	switch ended := j.pod.Ended(); {
	case ended && j.lifetime.ended.IsZero():
		n.close(j)
		j.share, j.wanted = 0, nil
		n.interrupt("departure", true)
	case !ended && !j.lifetime.ended.IsZero():
		j.lifetime.ended, j.lifetime.since, j.lifetime.fair = time.Time{}, n.now, ""
		n.interrupt("arrival", true)
	}
}

// close completes what is known about the lifetime of a job whose processes have ended.
func (n *Node) close(j *job) {
	if !j.lifetime.ended.IsZero() {
		return
	}
	j.lifetime.ended = n.now
	j.lifetime.hold(j.share, n.now)
	j.lifetime.fair = n.fairText(j)
}

// keptByEnded returns by how much the requests of jobs whose processes have ended exceed their original ones. Kubelet
// accounts these requests until it reports the end of the pods.
func (n *Node) keptByEnded() growth.MilliCPU {
	kept := growth.MilliCPU(0)
	for _, j := range n.jobs {
		if j.tunable() && j.pod.Ended() {
			kept += j.pod.Total(n.effective(j)) - j.pod.Total(j.original())
		}
	}
	return kept
}
