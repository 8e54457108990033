package node

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	// yieldTime is the time without changes by another client after which a job shares the pool again.
	yieldTime = time.Hour
	// maxStrange is the number of changes within yieldTime after which an unknown client counts as another writer. A
	// single one may be the last resize of an earlier coordinator.
	maxStrange = 2
	// maxWrites is the number of requests of this node that are kept. An informer delivers them late.
	maxWrites = 8
)

// yielded records that another client, such as a vertical autoscaler, changes the CPU requests of a job. Two writers
// would undo each other's changes forever, so this node gives way.
type yielded struct {
	// Writer is the field manager of the other client; empty if unknown.
	Writer string `json:"writer,omitempty"`
	// Request is the request of the app containers that it wrote last, at the time At.
	Request growth.MilliCPU `json:"request"`
	At      time.Time       `json:"at"`
	// Created is the original request of the pod. The present one is not.
	Created Requests `json:"created"`
}

func (y yielded) reason() string {
	writer := y.Writer
	if writer == "" {
		writer = "another client"
	}
	return fmt.Sprintf("%s has set its CPU request to %s, and two writers would undo each other's changes. "+
		"To have it tuned, exclude its CPU from the other controller. Tuning resumes an hour after the last change",
		writer, y.Request)
}

// strange counts changes of requests by an unknown client.
type strange struct {
	count int
	last  time.Time
}

// writes are the last requests that this node has asked for.
type writes []Requests

func (w *writes) add(r Requests) {
	if *w = append(*w, r); len(*w) > maxWrites {
		*w = slices.Delete(*w, 0, 1)
	}
}

// remove removes the newest write of some requests, which was not made.
func (w *writes) remove(r Requests) {
	for i := len(*w) - 1; i >= 0; i-- {
		if maps.Equal((*w)[i], r) {
			*w = slices.Delete(*w, i, i+1)
			return
		}
	}
}

func (w writes) contain(r Requests) bool {
	return slices.ContainsFunc(w, func(written Requests) bool { return maps.Equal(written, r) })
}

// observeWriter gives way if a client other than this node has changed the job's requests.
func (n *Node) observeWriter(j *job, before Requests) {
	now := j.pod.Requests()
	if maps.Equal(now, before) || j.writes.contain(now) || j.pod.ResizedBy == gpushare.FieldManager {
		return
	}
	if j.pod.ResizedBy == "" && j.yielded == nil {
		if n.now.Sub(j.strange.last) > yieldTime {
			j.strange.count = 0
		}
		j.strange = strange{count: j.strange.count + 1, last: n.now}
		if j.strange.count < maxStrange {
			return
		}
	}
	n.yield(j)
}

// resizeConflict handles a resize that was not made because another client has changed the requests since the decision.
// The pod's update is delivered before or after this result.
func (n *Node) resizeConflict(j *job, e ResizeFinished) {
	j.writes.remove(e.Resize.Requests)
	j.decisions.SetOutcome("not enforced: " + e.Err)
	n.log(Info, "a CPU request was not overwritten that another client has changed", "job", j.pod.Ref, "err", e.Err)
	if j.pod.ResizedBy != "" {
		n.observeWriter(j, e.Resize.Before)
	}
}

// yield takes a job out of the pool, or prolongs that.
func (n *Node) yield(j *job) {
	created := j.original()
	if j.yielded == nil {
		n.interrupt("another writer", true)
	}
	j.yielded = &yielded{
		Writer:  j.pod.ResizedBy,
		Request: j.pod.Request(),
		At:      n.now,
		Created: created,
	}
	j.wanted = nil
	n.explainFixed(j)
}

// resumeYield continues to give way after a restart of the coordinator.
func (n *Node) resumeYield(j *job) {
	past, ok := n.pastYields[j.pod.Ref.UID]
	delete(n.pastYields, j.pod.Ref.UID)
	switch {
	case ok:
		j.yielded = &past
		if sameContainers(past.Created, j.created) {
			j.created = past.Created
		}
	case j.pod.ResizedBy != "" && j.pod.ResizedBy != gpushare.FieldManager:
		n.yield(j)
	}
}

// endYields lets jobs share the pool again whose requests no other client has changed for a long time.
func (n *Node) endYields() {
	for _, j := range n.sorted() {
		if j.yielded != nil && n.now.Sub(j.yielded.At) >= yieldTime {
			n.log(Info, "a job's CPU is tuned again: no other client has changed its request", "job", j.pod.Ref)
			j.yielded, j.strange = nil, strange{}
			n.interrupt("no other writer", true)
		}
	}
}

// explainFixed records once why the CPU of a job is not tuned.
func (n *Node) explainFixed(j *job) {
	why := j.fixed()
	switch {
	case why == "":
	case !j.spec.Allows(gpushare.TuneCPU):
		n.log(Info, "the CPU of a job is not tuned", "job", j.pod.Ref, "reason", why)
	default:
		n.event(j, oncePerJob, false, "CPUNotTuned", "The CPU share of this job is left alone: "+why)
	}
}

// sameContainers reports whether requests are of the same containers.
func sameContainers(a, b Requests) bool {
	return len(a) == len(b) && !slices.ContainsFunc(slices.Collect(maps.Keys(a)), func(name string) bool { return b[name] == 0 })
}
