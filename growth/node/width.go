package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth/elastic"
)

// reportWidth records an event if the tuner recommends another number of workers for a job, once for each number.
func (n *Node) reportWidth(j *job) {
	w := n.advice[j.pod.Ref.UID].Width
	if w == nil || !j.spec.Elastic.Valid() || w.Workers == j.widthReported || j.leader() != j || j.pod.Ended() {
		return
	}
	j.widthReported = w.Workers
	n.event(j, 0, false, "WorkersRecommended", fmt.Sprintf("%s. Save a checkpoint before you change the number of workers of the pod's owner", w.Reason))
}

// elasticRange returns the numbers of workers that the user permits, for the job's sample.
func (j *job) elasticRange() *elastic.Range {
	if !j.spec.Elastic.Valid() {
		return nil
	}
	r := j.spec.Elastic
	return &r
}
