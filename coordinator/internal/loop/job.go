package loop

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/resize"
	"github.com/trellis-gpu/trellis/growth/trial"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// job is what the loop knows about one running pod.
type job struct {
	pod     pods.Pod
	wish    gpushare.Spec
	arrived time.Time

	// Progress.
	latest    wire.Progress
	value     float64
	reported  bool
	counted   int64 // steps that an earlier coordinator counted in the log or file
	odometer  odometer
	window    window
	rates     rates
	stopText  context.CancelFunc
	container atomic.Pointer[string] // the trainer's ID, for whoever reads its file

	// Growth.
	tracker  *efficiency.Tracker
	reading  efficiency.Reading
	category growth.Category

	// CPU.
	usage   cgroup.Usage
	cost    cost
	curve   remaining.Curve
	usedAt  time.Time
	used    growth.MilliCPU
	io      traffic
	weight  float64
	share   growth.Share
	changed time.Time
	want    pods.Requests // nil before the first decision
	refusal resize.Refusal
	// What was told of the refusal.
	refusedAs string
	// What was last made so, and the weight that was then read back.
	weighed   pods.Requests
	weighedAs int64

	// GPU time.
	duty growth.Share // 0 for a job that was not told any
	turn int64

	// Advice.
	advice        bus.Advice
	sent, applied int64
	running       wire.Values
	trial         trial.State
	restarted     bool // since the last look

	told      map[string]time.Time
	decisions explain.Ring
}

// fixed says why the job's CPU is left alone; empty for one that shares.
func (j *job) fixed() string {
	if !j.wish.Allows(gpushare.TuneCPU) {
		return "its user does not list cpu in " + gpushare.TuneAnnotation
	}
	return j.pod.Fixed
}

// meet takes in the pod as it is now.
func (j *job) meet(pod pods.Pod) {
	j.pod = pod
	id := pod.Trainer().ID
	j.container.Store(&id)
}

// trainer is the ID of the container that trains. It may be asked from anywhere.
func (j *job) trainer() string { return *j.container.Load() }

// tunable tells whether the job takes part in dividing the CPU.
func (j *job) tunable() bool { return j.fixed() == "" }

// observe takes in what the pod's cgroup says.
func (j *job) observe(usage cgroup.Usage, now time.Time) {
	elapsed := now.Sub(j.usedAt).Seconds()
	if j.pod.HostNetwork {
		usage.NetworkIO = 0 // the node's, not the job's
	}
	if !j.usedAt.IsZero() && elapsed > 0 {
		j.io = between(j.usage, usage, elapsed)
	}
	if j.usage.CPUKnown && usage.CPUKnown && elapsed > 0 && usage.CPU >= j.usage.CPU {
		j.used = growth.MilliCPU(float64(usage.CPU-j.usage.CPU) / elapsed * float64(growth.Core))
	}
	j.usage, j.usedAt = usage, now
}

// sample is the job as others see it.
func (j *job) sample(gpus []growth.GPU, fair fairfinish.State) bus.Sample {
	history := j.tracker.State()
	var work bus.Work
	work.Start = j.cost.start()
	work.StepCost, work.StepSpread = j.cost.perStep()
	work.Curve = &remaining.Curve{First: j.curve.First, Points: slices.Clone(j.curve.Points)}
	if account, ok := fair.Accounts[j.pod.Ref.UID]; ok {
		work.Fair = &fairfinish.State{At: fair.At, Accounts: map[growth.PodUID]fairfinish.Account{j.pod.Ref.UID: account}}
	}
	s := bus.Sample{
		Pod: j.pod.Ref, GPUs: gpus,
		Step: j.latest.Step, Epoch: j.latest.Epoch, TotalSteps: j.latest.TotalSteps,
		Metric: j.wish.Metric, Value: j.value, Reported: j.reported,
		Growth: j.reading.Growth, Category: j.category, History: &history, Work: &work,
		CPUUsed: j.used, Share: j.share, CPURequest: j.pod.InForce().Sum(), Weight: j.usage.Weight, MemoryUsed: j.usage.Memory,
		BlockIO: j.io.block, NetworkIO: j.io.network, Pressure: j.io.pressure,
		SamplesPerSecond: j.rates.samples, StepSeconds: j.rates.step, LoadSeconds: j.rates.load,
		BatchSize: j.running.BatchSize, Loaders: j.running.Loaders,
		Generation: j.sent, Applied: j.applied,
	}
	if j.duty > 0 {
		d := j.duty
		s.Duty = &d
	}
	if j.wish.Allows(gpushare.TuneBatchSize) {
		tried := j.trial
		s.Trial = &tried
	}
	for _, knob := range j.wish.Tune {
		if knob != gpushare.TuneCPU || j.tunable() {
			s.Tunable = append(s.Tunable, string(knob))
		}
	}
	return s
}
