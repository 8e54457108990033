package node

import (
	"encoding/json"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/resize"
	"github.com/trellis-gpu/trellis/growth/trial"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// job is the state of one running pod.
type job struct {
	pod     Pod
	spec    gpushare.Spec
	arrived time.Time

	// Progress.
	latest      wire.Progress
	value       float64
	reported    bool
	lastValue   lastValue
	restartedBy string // why the job was restarted; empty once a value has shown where it continues
	failed      string // why it has failed; empty if it has not
	cutShort    bool   // it has failed, or was deleted before it ended
	hasMoved    bool   // it has moved here from another node, and no value has shown yet where it continues
	missing     missing
	stepOffset  int64 // steps in the log or file before this coordinator read it
	counter     stepCounter
	stepped     time.Time // when the counter last changed
	processes   processes
	gang        *job // the lead of the pods that are one job; nil for a job with one pod
	first       *job // of these pods, the one with the lowest UID
	independent bool // other pods of the same owner and command train independently of this one
	window      window
	rates       rates

	// Growth.
	tracker  *efficiency.Tracker
	reading  efficiency.Reading
	category growth.Category

	// Work.
	cost  stepCost
	curve remaining.Curve

	// Provided by the caller: forecasts that replace the node's own, and runs of the program on other nodes.
	providedRemaining, providedToTarget *remaining.Estimate
	clusterRuns                         []Run

	// Usage at the last tick. metered has the counters of fair sharing, which a wake-up updates too.
	usage   Usage
	usedAt  time.Time
	used    growth.MilliCPU
	traffic traffic
	metered Usage
	profile profile
	memory  memoryRequest
	// widthReported is the number of workers that an event has recommended; 0 for none.
	widthReported int
	// training has the cores that the training processes keep busy.
	training training

	// CPU share.
	weight    float64
	share     growth.Share
	changed   time.Time
	wanted    Requests // nil before the first decision
	created   Requests // the requests when the node first saw the pod
	writes    writes   // the last requests that this node has asked for
	yielded   *yielded // set while another client changes the requests
	strange   strange  // changes by a client that is not known
	unapplied *unapplied
	// pendingSince is the time when kubelet reported the present ResizeStatus.
	pendingSince time.Time
	quotaFull    time.Time // time of the first refusal by a quota since the last resize
	refusal      resize.Refusal
	refusedAs    string // outcome in the decision log while the refusal is active
	refusedBy    string // what refused the last resize
	enforced     Requests
	readBack     int64 // the cgroup's weight after enforced was applied

	// GPU time. dutyEnded is set for a job that a coordinator of an earlier release has sent a duty.
	gpu       gpuTime
	dutyEnded bool

	// Advice.
	advice        bus.Advice
	sent, applied int64       // generations of advice
	sentConfig    int64       // generation of the last config that was sent
	running       wire.Values // of each process
	settings      settings
	pause         pause
	save          saving
	far           farRanks
	trial         trial.State
	batch         batchState
	attempt       int64 // number of the config within one generation of advice
	restarted     bool  // since the last tick

	encoded   json.RawMessage // private state, as encoded in step encodedIn
	encodedIn int64

	eventTimes  map[string]time.Time // time of the last event by reason
	lifetime    lifetime
	eta         *bus.ETA        // nil if unknown
	usable      growth.MilliCPU // the most that it can use at once of its resource; 0 if unknown
	etaWritten  string          // the value of its annotation
	etaAt       time.Time       // when it was written
	late        lateness
	shareReport shareReport
	decisions   DecisionLog
}

// fixed returns the reason why the job's CPU is not tuned. It is empty for a job that shares the pool.
func (j *job) fixed() string {
	switch {
	case !j.spec.Allows(gpushare.TuneCPU):
		return "its user does not list cpu in " + gpushare.TuneAnnotation
	case j.pod.Fixed != "":
		return j.pod.Fixed
	case j.yielded != nil:
		return j.yielded.reason()
	}
	return j.pod.outweighed(j.original())
}

// original returns the requests with which the pod was created. They are in an annotation once the pod was resized.
func (j *job) original() Requests {
	original, preserved := j.pod.Original()
	if !preserved && sameContainers(original, j.created) {
		return j.created
	}
	return original
}

// wantedTotal returns the decided request of the whole pod; 0 before the first decision.
func (j *job) wantedTotal() growth.MilliCPU {
	if j.wanted == nil {
		return 0
	}
	return j.pod.Total(j.wanted)
}

// tunable reports whether the job takes part in the division of the CPU.
func (j *job) tunable() bool { return j.fixed() == "" }

// observe updates the job's usage from a reading of its cgroup.
func (j *job) observe(usage Usage, now time.Time) {
	elapsed := now.Sub(j.usedAt).Seconds()
	if j.pod.HostNetwork {
		usage.NetworkIO = 0 // the counters are those of the node
	}
	if !j.usedAt.IsZero() && elapsed > 0 {
		j.traffic = trafficBetween(j.usage, usage, elapsed)
	}
	if j.usage.CPUKnown && usage.CPUKnown && elapsed > 0 && usage.CPU >= j.usage.CPU {
		j.used = growth.MilliCPU(float64(usage.CPU-j.usage.CPU) / elapsed * float64(growth.Core))
	}
	j.usage, j.usedAt = usage, now
	j.meter(usage)
}

// meter updates the counters from which package fairfinish computes the work done.
func (j *job) meter(usage Usage) {
	j.metered.CPU, j.metered.CPUKnown = usage.CPU, usage.CPUKnown
	j.metered.Queued, j.metered.QueuedKnown = usage.Queued, usage.QueuedKnown
}
