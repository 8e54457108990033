package peaks

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/predict"
)

// Run is what was learned from a job that has ended.
type Run struct {
	// Namespace and Kind identify similar jobs. Jobs of other namespaces are never used for a prediction.
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Model     Model  `json:"model"`
	Peak      Use    `json:"peak"`
	// StepSeconds is the mean time of a step; 0 if unknown.
	StepSeconds growth.Seconds `json:"stepSeconds,omitempty"`
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
		r.StepSeconds >= 0 && r.StepSeconds <= maxStep && len(r.Namespace) <= maxNameLength && len(r.Kind) <= maxNameLength
}

func (r Run) similar(other Run) bool { return r.Namespace == other.Namespace && r.Kind == other.Kind }

// Remember returns the runs with another one, the newest last. It forgets the oldest run of the same kind, or of all kinds, if
// there are too many. It does not change runs.
func Remember(runs []Run, r Run) []Run {
	if !r.valid() {
		return runs
	}
	same := 0
	for _, other := range runs {
		if other.similar(r) {
			same++
		}
	}
	kept := make([]Run, 0, len(runs)+1)
	for _, other := range runs {
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

// models predict what grows with the batch size: the time of a step, and memory in GiB.
type models struct{ step, memory, gpuMemory *predict.Model }

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
			step:      learn(of, func(r Run) float64 { return float64(r.StepSeconds) }),
			memory:    learn(of, func(r Run) float64 { return Memory(r.Peak) / float64(growth.GiB) }),
			gpuMemory: learn(of, func(r Run) float64 { return GPUMemory(r.Peak) / float64(growth.GiB) }),
		}
	}
	return k
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
	m := k.models[job.Namespace]
	learned := m.memory
	if of(Use{GPUUsed: 1}) > 0 {
		learned = m.gpuMemory
	}
	if learned == nil || job.Model == (Model{}) || of(Use{CPU: 1}) > 0 {
		return Interval{}
	}
	p, ok := learned.Predict(job.Model.job(), predict.Allocation{})
	if !ok {
		return Interval{}
	}
	gib := float64(growth.GiB)
	return Interval{Low: gib * float64(p.Low), Likely: gib * float64(p.Seconds), High: gib * float64(p.High)}
}

// StepSeconds predicts the time of a step: from earlier runs of the program, else from the model that the job describes.
func (k *Knowledge) StepSeconds(job Run) (Interval, bool) {
	var steps []float64
	for _, r := range k.runs {
		if job.Kind != "" && r.similar(job) && r.Model == job.Model {
			steps = append(steps, float64(r.StepSeconds))
		}
	}
	if p := FromRuns(steps); p.known() {
		return Interval{Low: p.quantile(low), Likely: p.quantile(middle), High: p.quantile(high)}, true
	}
	learned := k.models[job.Namespace].step
	if learned == nil || job.Model == (Model{}) {
		return Interval{}, false
	}
	p, ok := learned.Predict(job.Model.job(), predict.Allocation{})
	return Interval{Low: float64(p.Low), Likely: float64(p.Seconds), High: float64(p.High)}, ok && !math.IsInf(float64(p.High), 1)
}
