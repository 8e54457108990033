package peaks

import (
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Recommendation is what a job should request. A nil Request means that nothing is known.
type Recommendation struct {
	CPU    *Request `json:"cpuMilli,omitempty"`
	Memory *Request `json:"memoryMiB,omitempty"`
	// GPUMemory is for each GPU.
	GPUMemory *Request `json:"gpuMemoryMiB,omitempty"`
	// StepSeconds is the predicted time of the next steps at the present share, and StepsSeen the number of the job's own
	// measurements that correct it: 0 before the first step.
	StepSeconds *Interval `json:"stepSeconds,omitempty"`
	StepsSeen   int       `json:"stepsSeen,omitempty"`
	// Reason explains the requests to users, in one sentence.
	Reason string `json:"reason,omitempty"`
}

// Request is a recommended request, with the peak that it follows from: 80 % of such peaks are between Low and High.
type Request struct {
	Request int64 `json:"request"`
	Low     int64 `json:"low"`
	Likely  int64 `json:"likely"`
	High    int64 `json:"high"`
}

// Margin is the part of the observed peak that a recommended request of memory exceeds it by at least: it cannot be given back
// while the job runs.
const Margin = 0.1

// The units to which requests are rounded up.
const cpuUnit, memoryUnit, gpuMemoryUnit = 10, 16, 128

// Recommend recommends the requests of a job from its profile and from other jobs. remaining is the time to its end; not
// positive if unknown. seen are measurements of its steps.
func (k *Knowledge) Recommend(p Profile, job Run, remaining growth.Seconds, seen ...Step) (r Recommendation) {
	peak := p.Peak()
	var reason string
	request := func(of Resource, margin float64, unit int64) *Request {
		prior, from := k.Prior(job, of)
		i, ok := Forecast(p, of, remaining, prior)
		if !ok {
			return nil
		}
		if prior.known() {
			reason = from
		}
		return &Request{
			Request: roundUp(max(i.High, (1+margin)*of(peak)), unit),
			Low:     int64(math.Floor(i.Low)),
			Likely:  int64(math.Round(i.Likely)),
			High:    int64(math.Ceil(i.High)),
		}
	}
	r.CPU = request(CPU, 0, cpuUnit)
	r.Memory = request(Memory, Margin, memoryUnit)
	r.GPUMemory = request(GPUMemory, Margin, gpuMemoryUnit)
	if use := r.CPU; len(seen) == 0 && job.StepUnit == growth.CoreSecond && use != nil && use.Likely > 0 {
		job.StepUse = min(job.StepUse, growth.MilliCPU(use.Likely)) // a request may be more than such jobs use
	}
	if step, ok := k.StepSeconds(job, seen...); ok {
		r.StepSeconds, r.StepsSeen = &step, len(costs(job.step().costUnit(), seen))
	}
	r.Reason = why(len(p.Valid().Blocks) > 0, reason)
	return r
}

// WithCPUOf returns the recommendation for a node with so much CPU: a job cannot use more there, and no node of its size could run a
// pod that requests more. A capacity of 0 is unknown.
func (r Recommendation) WithCPUOf(capacity growth.MilliCPU) Recommendation {
	if r.CPU == nil || capacity <= 0 {
		return r
	}
	most := int64(capacity)
	r.CPU = &Request{
		Request: min(r.CPU.Request, most),
		Low:     min(r.CPU.Low, most),
		Likely:  min(r.CPU.Likely, most),
		High:    min(r.CPU.High, most),
	}
	return r
}

func why(observed bool, from string) string {
	switch {
	case observed && from != "":
		return fmt.Sprintf("what the job has used so far, and %s", from)
	case observed:
		return "what the job has used so far"
	}
	return from
}

func roundUp(x float64, unit int64) int64 {
	return int64(math.Ceil(min(x, math.MaxInt32)/float64(unit))) * unit
}

const (
	// noticed is the factor by which a recommendation must differ from another one to be worth a change.
	noticed = 1.2
	// minMemory and minCPU are the least such differences.
	minMemory growth.MiB      = 64
	minCPU    growth.MilliCPU = 50
)

// differs reports whether a recommended amount is worth a change from another one. least is the least difference that is.
func differs(from, to, least int64) bool {
	small, large := min(from, to), max(from, to)
	return large-small >= least && float64(large) >= noticed*float64(small)
}

// DiffersFrom reports whether the requests are worth a change from another recommendation: one of them differs noticeably, or is
// new or gone.
func (r Recommendation) DiffersFrom(other Recommendation) bool {
	differ := func(a, b *Request, least int64) bool {
		return (a == nil) != (b == nil) || a != nil && differs(a.Request, b.Request, least)
	}
	return differ(r.CPU, other.CPU, int64(minCPU)) || differ(r.Memory, other.Memory, int64(minMemory)) ||
		differ(r.GPUMemory, other.GPUMemory, gpuMemoryUnit)
}

// stepNoticed is the factor by which a predicted time of a step must differ from another one to be worth a change: it follows a job's
// share, which changes often.
const stepNoticed = 1.5

// StepDiffersFrom reports whether the predicted time of a step is worth a change from another recommendation.
func (r Recommendation) StepDiffersFrom(other Recommendation) bool {
	a, b := r.StepSeconds, other.StepSeconds
	if a == nil || b == nil {
		return a != b
	}
	return (r.StepsSeen == 0) != (other.StepsSeen == 0) || (r.StepsSeen == MaxSteps) != (other.StepsSeen == MaxSteps) ||
		max(a.Likely, b.Likely) >= stepNoticed*min(a.Likely, b.Likely)
}

// MemoryDiffers reports whether a recommended memory request is worth a change of the present one.
func MemoryDiffers(from, to growth.MiB) bool {
	return differs(int64(from), int64(to), int64(minMemory))
}

// CPUDiffers reports the same for a CPU request.
func CPUDiffers(from, to growth.MilliCPU) bool { return differs(int64(from), int64(to), int64(minCPU)) }
