package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

// The kernels of a job that takes turns run while it holds the turn, because the shim drains the GPU before it gives up the
// turn. A job whose kernels run for longer computes while others hold the turn, and is charged what the driver measures.
const (
	// outsideWindow is the time over which kernels are compared with turns.
	outsideWindow growth.Seconds = 30
	// The kernels of a window may run for longer than the turns by outsideLag, the age of the driver's samples in the last
	// record, and by outsidePart of the window, as samples are rounded.
	outsideLag  growth.Seconds = 3
	outsidePart growth.Seconds = 0.1
	// outsideWindows is the number of windows in a row after which a job computes outside its turns. One is not enough: a
	// record may be late, or describe a time before the turns.
	outsideWindows = 2
)

// gpuOutside compares what the driver measures of a job that takes turns with the time for which it held the turn.
type gpuOutside struct {
	elapsed, kernels, held growth.Seconds // of this window
	unmeasured             growth.Seconds // held since the driver's last measurement
	windows                int            // in a row in which the kernels ran for longer than the turns
}

// found reports whether the job computes outside its turns.
func (o gpuOutside) found() bool { return o.windows >= outsideWindows }

// add adds an interval: the time of the turns, and what the driver has measured since the last one. It reports whether a
// window has ended in which the kernels ran for longer than the turns.
func (o *gpuOutside) add(held, kernels, elapsed growth.Seconds) bool {
	o.elapsed += elapsed
	o.kernels += kernels
	o.held += held
	return o.elapsed >= outsideWindow && o.kernels > o.held+outsideLag+outsidePart*o.elapsed
}

// checkTurns compares the turns of a job with the driver's measurement. A job that computes outside its turns is charged these, and
// what its kernels ran for longer, since it slowed other jobs down meanwhile. Under MPS the driver does not measure the jobs apart.
func (n *Node) checkTurns(j gpuJob, r gpuReading, kernels, elapsed growth.Seconds) gpuReading {
	o := &j.gpu.outside
	if !j.gpu.paused || j.overlaps || elapsed < 0 {
		*o = gpuOutside{}
		return r
	}
	held := r.alone + r.shared
	longer := o.add(held, kernels, elapsed)
	o.unmeasured += held
	excess := max(0, kernels-o.unmeasured)
	if elapsed > 0 { // otherwise the next measurement includes this interval
		o.unmeasured = 0
	}
	switch {
	case longer:
		o.windows++
		if o.found() {
			n.reportOutside(j, *o)
		}
		*o = gpuOutside{windows: o.windows, unmeasured: o.unmeasured}
	case o.elapsed >= outsideWindow:
		*o = gpuOutside{unmeasured: o.unmeasured}
	}
	if !o.found() {
		return r
	}
	j.gpu.metered = true
	return gpuReading{alone: held, shared: excess, waited: r.waited, exact: true, measured: true}
}

// reportOutside records an event about a job that computes outside its turns.
func (n *Node) reportOutside(j gpuJob, o gpuOutside) {
	n.event(j.job, gpuEventPeriod, true, "TurnIgnored",
		fmt.Sprintf("The job computes while other jobs have the turn: in %.0f s its kernels ran on %s for %.0f s, as the driver measures, and it "+
			"held the turn for %.0f s. It is charged the time of its kernels. Usual causes are work on the GPU in gpushare.idle() or "+
			"gpushare.timed(), and processes of the pod that do not call gpushare.step",
			o.elapsed, gpuNames(j.gpus), o.kernels, o.held))
}
