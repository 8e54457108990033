package rebalance

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

// A program that was never moved is assumed to take usualOwn to save and to restore, and a pod of a cluster without moves
// usualReplacement to be evicted and placed. Most take less.
const (
	usualOwn         growth.Seconds = 20
	usualReplacement growth.Seconds = 10
)

// pullRate is the assumed rate at which a node pulls and unpacks an image, in MiB per second.
const pullRate = 50

// cost returns what a move of a job to a node is expected to take: as long as its own moves, or those of its program, and the time to pull
// its images if the node does not have them.
func (v *view) cost(j Job, on growth.NodeName) growth.Seconds {
	cost, _ := v.measuredCost(j)
	return cost + v.pull(j, on)
}

// basis says what the cost is based on, for users.
func (v *view) basis(j Job, on growth.NodeName) string {
	_, basis := v.measuredCost(j)
	if pull := v.pull(j, on); pull > 0 {
		basis += fmt.Sprintf("; %s of it for its image, which node %s does not have", rounded(pull), on)
	}
	return basis
}

// pull returns how long a node takes to pull the images of a job: 0 if it has them, else as long as others took that did not have them.
func (v *view) pull(j Job, on growth.NodeName) growth.Seconds {
	if v.MissingImages == nil {
		return 0
	}
	size := v.MissingImages(j.Pod.UID, on)
	if size == 0 {
		return 0
	}
	if own, ok := j.History.Pull(); ok {
		return own
	}
	if p := v.pulls[j.Request.Kind]; p.moved > 0 {
		return p.sum / growth.Seconds(p.moved)
	}
	return growth.Seconds(size) / pullRate
}

// measuredCost returns what a move takes to a node that has the job's images, and what that is based on.
func (v *view) measuredCost(j Job) (growth.Seconds, string) {
	if own, ok := j.History.Cost(); ok {
		return own, "as its own moves took"
	}
	switch p := v.programs[j.Request.Kind]; p.moved {
	case 0:
		return v.assumedCost()
	case 1:
		return p.sum, "as that of another job of its program took"
	default:
		return p.sum / growth.Seconds(p.moved), fmt.Sprintf("as those of %d other jobs of its program took", p.moved)
	}
}

// assumedCost is for a program that was never moved. Eviction and placement take what they took in other moves of the cluster.
func (v *view) assumedCost() (growth.Seconds, string) {
	if v.replaced.moved == 0 {
		return usualOwn + usualReplacement, "assumed: no move of its program was measured"
	}
	const basis = "with eviction and placement as in other moves, the rest assumed: no move of its program was measured"
	return usualOwn + v.replaced.sum/growth.Seconds(v.replaced.moved), basis
}
