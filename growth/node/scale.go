package node

import (
	"fmt"
	"time"
)

// followScale translates a job's curve after a change of its metric's scale.
func (n *Node) followScale(j *job) {
	r, ok := j.tracker.Rescaled()
	if !ok {
		return
	}
	j.curve.Rescale(r.Factor, float64(r.Since))
	j.restarted = true // a trial cannot compare values of two scales
	n.log(Info, "metric rescaled", "job", j.pod.Ref, "factor", r.Factor, "since", r.Since)
	n.event(j, time.Minute, false, "MetricRescaled",
		fmt.Sprintf("%s changed at once from %.4g to %.4g at step %d and stayed there, which is a change of its scale and not growth. Its "+
			"growth goes on in the new scale, about %.3g times the old one", j.spec.Metric, r.Before, r.After, r.Since, r.Factor))
}
