package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// gpuTime is the state of a job on GPUs whose time is divided. Times of use are as in GPUUse.
type gpuTime struct {
	share   growth.Share // decided fraction of time; 0 before the first decision
	plain   growth.Share // fraction of time under plain sharing
	part    growth.Share // fraction that the job has: in turns what is decided, else the plain one
	weight  float64      // as in flowcon.Job
	changed time.Time
	paused  bool // the job waits while it does not have the turn

	seen  GPUUse         // last reading
	gated time.Time      // time of the last reading with Gated
	used  growth.Seconds // work that was charged, in GPU-seconds
	held  growth.Seconds // time for which it was charged
	// reported and heldReported are these up to the job's last report of steps.
	reported, heldReported growth.Seconds
	waited                 growth.Seconds // time in which the job was ready and others computed
	// rate is the work per second, and recent what the job did, in the last interval between two ticks.
	rate      growth.MilliCPU
	recent    recentUse
	sinceTick useSince
	busy      gpuBusy // as measured by the driver
	// outside is about kernels that run while other jobs have the turn.
	outside gpuOutside
	// metered is set if the job is charged what the driver has measured, unfreezable if freezing it has failed.
	metered, unfreezable bool

	charged     charged // since the cost of its steps was last measured, up to its last report
	chargedLate charged // since that report
	turns       turnSteps
	exact       bool // the cost of a step was measured while no others computed
	cost        stepCost

	set   int     // as in TurnJob
	speed float64 // likewise
	span  span    // use since the last measurement of its speed, up to its last report of steps
	late  span    // since that report
	phase phase   // in which its speeds were measured
	// stale is set while the cost of the job's steps is not known, because its batch size has changed.
	stale bool
	// inSets is the time in which the job held its GPUs in a set.
	inSets growth.Seconds

	decisions DecisionLog
	report    gpuReport
	note      gpuNote
}

// recentUse has the fractions of the last interval in which a job computed, and waited for its turn. They are assumptions
// unless measured is set.
type recentUse struct {
	held, waited growth.Share
	measured     bool
}

// useSince sums what a job has done since the last tick.
type useSince struct {
	elapsed, work, held, waited growth.Seconds
	measured                    bool
}

// dividesGPUs reports whether the time of the node's GPUs is divided.
func (n *Node) dividesGPUs() bool { return n.config.GPUTime.Divides(n.computes) }

func (e InventoryChanged) apply(n *Node) {
	n.sharedByMPS = e.MPS
	if e.Computes == n.computes {
		return
	}
	before := n.dividesGPUs()
	n.computes = e.Computes
	if now := n.dividesGPUs(); now != before {
		n.log(Info, "the time of the GPUs is divided by turns", "now", now, "setting", string(n.config.GPUTime))
		n.gpuFair = fairfinish.State{}
		n.interrupt("inventory", true)
	}
}

// unit returns the unit of the job's work: that of the resource whose division limits the job.
func (n *Node) unit() growth.Unit {
	if n.dividesGPUs() {
		return growth.GPUSecond
	}
	return growth.CoreSecond
}

// workDone returns the work from which growth is computed.
func (n *Node) workDone(j *job) (work growth.Work, known bool) {
	if n.dividesGPUs() {
		return growth.Work(j.identity().gpu.used), true
	}
	return growth.Work(j.usage.CPU), j.usage.CPUKnown
}

// costIn returns the cost of the job's steps in a unit.
func (j *job) costIn(unit growth.Unit) *stepCost {
	if unit == growth.GPUSecond {
		return &j.identity().gpu.cost
	}
	return &j.cost
}

// workIn returns the work that the job has done, in a unit.
func (j *job) workIn(unit growth.Unit) growth.Work {
	if unit == growth.GPUSecond {
		return growth.Work(j.identity().gpu.used)
	}
	return growth.Work(j.metered.CPU)
}
