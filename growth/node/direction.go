package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// announceDirection records which direction the user has left open and how Trellis reads it. The name of a loss leaves
// nothing open. A pod with a category has had the event from an earlier coordinator.
func (n *Node) announceDirection(j *job) {
	known := growth.Category(j.pod.Annotations[gpushare.CategoryAnnotation]).Valid()
	from, metric := j.spec.DirectionFrom, j.spec.Metric
	if known || from == gpushare.DirectionGiven || (from == gpushare.DirectionKnown && j.spec.Direction == growth.Minimize) {
		return
	}
	text := fmt.Sprintf("%s names %s without a direction. By its name, higher is better: it is maximised. If lower is better, write %q",
		gpushare.MetricAnnotation, metric, metric+":min")
	if from == gpushare.DirectionAssumed {
		text = fmt.Sprintf("%s names %s without a direction, and its name is not a known one: it is minimised, like a loss. "+
			"If higher is better, write %q, else %q", gpushare.MetricAnnotation, metric, metric+":max", metric+":min")
	}
	n.event(j, oncePerJob, false, "MetricDirection", text)
}
