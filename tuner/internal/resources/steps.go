package resources

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/peaks"
)

// steps are the last measurements of a job's steps, as long as its model and batch size stay the same. It is immutable.
type steps struct {
	begun bool        // the job has been observed
	at    int64       // its step at the last observation
	work  growth.Work // on GPUs, by then
	model peaks.Model
	batch int
	seen  []peaks.Step
}

// add returns the measurements with that of a sample, if the job has made steps since the last one. The first sample measures
// nothing, nor does one with steps of two batch sizes: the mean time of its steps may be from before, and its use is of now. So it is
// while a job is paused.
func (o steps) add(s bus.Sample) steps {
	model, batch := modelOf(s), batchOf(s)
	if !o.begun || model != o.model || batch != o.batch {
		return steps{begun: true, at: s.Steps(), work: workOf(s), model: model, batch: batch}
	}
	step := stepOf(s)
	if s.GPUTime != nil {
		step = o.onGPU(s)
	}
	if s.Steps() == o.at || step.Seconds == 0 && s.GPUTime == nil {
		return o
	}
	o.at, o.work = s.Steps(), workOf(s)
	if s.Paused == "" && step.Seconds > 0 {
		o.seen = append(slices.Clone(o.seen[max(0, len(o.seen)+1-peaks.MaxSteps):]), step)
	}
	return o
}

// onGPU returns the mean step since the last observation, as if the job had its GPUs alone. What a job holds of a GPU in one interval
// says little about that: most of its steps may be of another.
func (o steps) onGPU(s bus.Sample) peaks.Step {
	step := peaks.Step{Unit: growth.GPUSecond, Use: growth.Core}
	if work := workOf(s) - o.work; work > 0 && s.Steps() > o.at {
		step.Seconds = growth.Seconds(work) / growth.Seconds(max(1, len(s.GPUs))) / growth.Seconds(s.Steps()-o.at)
	}
	return step
}

// workOf returns the work of a job on its GPUs.
func workOf(s bus.Sample) growth.Work {
	if s.GPUTime == nil {
		return 0
	}
	return s.GPUTime.Work
}

func modelOf(s bus.Sample) peaks.Model {
	if s.Model == nil {
		return peaks.Model{}
	}
	return s.Model.Valid()
}

// batchOf returns the batch size that the job reports; 0 if it reports none.
func batchOf(s bus.Sample) int {
	if s.BatchSize == nil {
		return 0
	}
	return *s.BatchSize
}

// last returns a run with the job's newest measurement, if there is one: a job that waits uses nothing. Its part of a GPU is that of
// its next steps in any case.
func (o steps) last(r peaks.Run) peaks.Run {
	if len(o.seen) == 0 || r.StepUnit == growth.GPUSecond {
		return r
	}
	return withStep(r, o.seen[len(o.seen)-1])
}

// typical returns a run with the typical measurement, or without any.
func (o steps) typical(r peaks.Run) peaks.Run {
	return withStep(r, peaks.TypicalStep(o.seen))
}

func withStep(r peaks.Run, s peaks.Step) peaks.Run {
	r.StepSeconds, r.StepUse, r.StepUnit = s.Seconds, s.Use, s.Unit
	return r
}

// stepOf returns the time of a step and what the job uses: the part of its GPUs that it has, or of a CPU. Before its first step it is
// expected to use its CPU request.
func stepOf(s bus.Sample) peaks.Step {
	step := peaks.Step{Seconds: max(0, s.StepSeconds), Use: s.CPUUsed}
	switch {
	case s.GPUTime != nil:
		step.Unit, step.Use = growth.GPUSecond, gpuUse(*s.GPUTime)
	case step.Seconds == 0:
		step.Use = max(s.CPUUsed, s.CPURequest)
		if s.Usable > 0 {
			step.Use = min(step.Use, s.Usable)
		}
	}
	step.Use = max(0, step.Use)
	return step
}

// gpuUse returns which part of its speed alone a job has.
func gpuUse(t bus.GPUTime) growth.MilliCPU {
	pace := t.Pace
	if pace <= 0 {
		pace = t.Share
	}
	return min(max(pace, 0), 1).Of(growth.Core)
}
