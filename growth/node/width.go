package node

import (
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// reportWidth records an event if the tuner recommends another number of workers for a job, once for each number.
func (n *Node) reportWidth(j *job) {
	w := n.advice[j.pod.Ref.UID].Width
	if w == nil || w.Workers == 0 || !j.spec.Elastic.Valid() || w.Workers == j.widthReported || j.leader() != j || j.pod.Ended() {
		return
	}
	j.widthReported = w.Workers
	message := w.Reason
	if !j.spec.Allows(gpushare.TuneWorkers) {
		message += ". Save a checkpoint before you change the number of workers of the pod's owner"
	}
	n.event(j, 0, false, "WorkersRecommended", message)
}

// elasticRange returns the numbers of workers that the user permits, for the job's sample.
func (j *job) elasticRange() *elastic.Range {
	if !j.spec.Elastic.Valid() {
		return nil
	}
	r := j.spec.Elastic
	return &r
}
