package predict

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Job is what a job reports before it runs. A value that is not positive and finite is unknown. Job identifies the
// repetitions of a job.
type Job struct {
	// Batch is the number of samples per iteration.
	Batch float64
	// FLOPs are the floating-point operations of the model, in any unit. Params is the number of its parameters.
	FLOPs, Params float64
}

// Allocation is what a job was granted, relative to its peak use. A value that is not positive and finite is unknown.
type Allocation struct{ CPU, Memory float64 }

// Observation is the measured time of an iteration under an allocation.
type Observation struct {
	Allocation Allocation
	Seconds    growth.Seconds
}

// Sample is an observation of a job.
type Sample struct {
	Job Job
	Observation
}

// The bounds of a time, in seconds. Others are ignored.
const shortest, longest = 1e-6, 1e6

func (o Observation) valid() bool { return o.Seconds >= shortest && o.Seconds <= longest }

func (o Observation) logarithm() float64 { return math.Log(float64(o.Seconds)) }
