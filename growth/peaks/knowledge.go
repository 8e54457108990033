package peaks

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/predict"
)

// Run is what was learned from a job that has ended.
type Run struct {
	// Pod identifies the run. It is unknown in records of earlier releases.
	Pod growth.PodUID `json:"pod,omitempty"`
	// Namespace and Kind identify similar jobs. Jobs of other namespaces are never used for a prediction.
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Model     Model  `json:"model"`
	Peak      Use    `json:"peak"`
	// StepSeconds, StepUse and StepUnit are a Step: the mean time of a step and what the job used meanwhile. The use is unknown in
	// records of earlier releases.
	StepSeconds growth.Seconds  `json:"stepSeconds,omitempty"`
	StepUse     growth.MilliCPU `json:"stepUseMilli,omitempty"`
	StepUnit    growth.Unit     `json:"stepUnit,omitempty"`
	// Width is the throughput of the whole job at its number of workers; package elastic ignores invalid ones.
	Width elastic.Measured `json:"width"`
}

const (
	// MaxRuns bounds what is remembered, maxOfKind the runs of one kind in one namespace.
	MaxRuns, maxOfKind = 512, 8
	// maxNameLength bounds the names of a run.
	maxNameLength = 256
	// maxStep bounds the time of a step.
	maxStep growth.Seconds = 7 * 24 * 3600
	// minModels is the number of described runs below which nothing is predicted from models.
	minModels = 5
)

// valid reports whether a run may be learned.
func (r Run) valid() bool {
	return r.Peak != (Use{}) && r.Width.Finite() && r.Peak == r.Peak.valid() && r.Model == r.Model.Valid() &&
		r.step().valid() && len(r.Namespace) <= maxNameLength && len(r.Kind) <= maxNameLength && len(r.Pod) <= maxNameLength
}

func (r Run) step() Step { return Step{Seconds: r.StepSeconds, Use: r.StepUse, Unit: r.StepUnit} }

func (r Run) similar(other Run) bool { return r.Namespace == other.Namespace && r.Kind == other.Kind }

func (r Run) samePod(other Run) bool { return r.Pod != "" && r.Pod == other.Pod }

// Remember returns the runs with another one, the newest last. An earlier run of the same pod is replaced. Remember forgets the oldest
// run of the same kind, or of all kinds, if there are too many. It does not change runs.
func Remember(runs []Run, r Run) []Run {
	if !r.valid() {
		return runs
	}
	others := slices.DeleteFunc(slices.Clone(runs), r.samePod)
	same := 0
	for _, other := range others {
		if other.similar(r) {
			same++
		}
	}
	kept := make([]Run, 0, len(others)+1)
	for _, other := range others {
		if other.similar(r) && same >= maxOfKind {
			same--
			continue
		}
		kept = append(kept, other)
	}
	return append(kept[max(0, len(kept)+1-MaxRuns):], r)
}

// Knowledge predicts from runs. It is immutable.
type Knowledge struct {
	runs   []Run
	models map[string]models // by namespace
}

// models predict what grows with the batch size: the cost of a step, CPU in cores, and memory in GiB.
type models struct {
	step                   map[costUnit]*predict.Model
	cpu, memory, gpuMemory *predict.Model
}

// of returns the model of a resource, and its unit in that of a Use.
func (m models) of(r Resource) (learned *predict.Model, unit float64) {
	switch {
	case r(Use{CPU: 1}) > 0:
		return m.cpu, float64(growth.Core)
	case r(Use{Memory: 1}) > 0:
		return m.memory, float64(growth.GiB)
	}
	return m.gpuMemory, float64(growth.GiB)
}

// Learn returns the knowledge in runs, the newest last. It ignores runs that are not valid.
func Learn(runs []Run) *Knowledge {
	k := &Knowledge{models: map[string]models{}}
	described := map[string][]Run{}
	for _, r := range runs[max(0, len(runs)-MaxRuns):] {
		if !r.valid() {
			continue
		}
		k.runs = append(k.runs, r)
		if r.Model != (Model{}) {
			described[r.Namespace] = append(described[r.Namespace], r)
		}
	}
	for namespace, of := range described {
		k.models[namespace] = models{
			step:      learnSteps(of),
			cpu:       learn(of, func(r Run) float64 { return r.Peak.CPU.Cores() }),
			memory:    learn(of, func(r Run) float64 { return Memory(r.Peak) / float64(growth.GiB) }),
			gpuMemory: learn(of, func(r Run) float64 { return GPUMemory(r.Peak) / float64(growth.GiB) }),
		}
	}
	return k
}

func learnSteps(runs []Run) map[costUnit]*predict.Model {
	byUnit := map[costUnit][]Run{}
	for _, r := range runs {
		of := r.step().costUnit()
		byUnit[of] = append(byUnit[of], r)
	}
	learned := map[costUnit]*predict.Model{}
	for of, runs := range byUnit {
		learned[of] = learn(runs, func(r Run) float64 { return r.step().cost() })
	}
	return learned
}

// learn learns one value of runs. It returns nil if too few runs have it.
func learn(runs []Run, value func(Run) float64) *predict.Model {
	samples := make([]predict.Sample, 0, len(runs))
	for _, r := range runs {
		if v := value(r); v > 0 {
			samples = append(samples, predict.Sample{
				Job:         r.Model.job(),
				Observation: predict.Observation{Seconds: growth.Seconds(v)},
			})
		}
	}
	if m := predict.Learn(samples); m.Jobs() >= minModels {
		return m
	}
	return nil
}

func (m Model) job() predict.Job {
	return predict.Job{Batch: float64(m.BatchSize), FLOPs: m.FLOPs, Params: m.Params}
}

// Prior returns what is known about a resource of a job before it runs. from says from what. The job is a Run whose values are
// not known yet.
func (k *Knowledge) Prior(job Run, of Resource) (p Prior, from string) {
	var peaks []float64
	for _, r := range k.runs {
		if job.Kind != "" && r.similar(job) && r.Model == job.Model {
			peaks = append(peaks, of(r.Peak))
		}
	}
	if p = FromRuns(peaks); p.known() {
		return p, "earlier runs of the program"
	}
	return FromInterval(k.described(job, of)), "its batch size, operations and parameters"
}

// described predicts a peak from the model that a job describes, in the units of a Use. It is zero if that is not possible.
func (k *Knowledge) described(job Run, of Resource) Interval {
	learned, unit := k.models[job.Namespace].of(of)
	if learned == nil || job.Model == (Model{}) {
		return Interval{}
	}
	p, ok := learned.Predict(job.Model.job(), predict.Allocation{})
	if !ok {
		return Interval{}
	}
	return Interval{Low: unit * float64(p.Low), Likely: unit * float64(p.Seconds), High: unit * float64(p.High)}
}
