package goodput

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// MaxBatch is the largest batch size of a process.
	MaxBatch = 1 << 24
	// MaxPoints is the number of sizes that are measured for a job.
	MaxPoints = 8
	// headroom is the part of the memory that a size must leave.
	headroom = 0.1
	// newConditions is the change of a step time from which other jobs are its reason, and not chance.
	newConditions = 1.25
	// outlier bounds the influence of one interval on a step time, as a factor.
	outlier = 10
)

// Range is what a job declares about its batch size.
type Range struct {
	// Default is the job's own size, and Min and Max bound those that it accepts.
	Default int  `json:"default"`
	Min     int  `json:"min"`
	Max     int  `json:"max"`
	Rule    Rule `json:"learningRate,omitempty"`
}

func (r Range) valid() bool {
	return r.Min >= 1 && r.Min <= r.Default && r.Default <= r.Max && r.Max <= MaxBatch
}

// State is what is known about the batch size of a job.
type State struct {
	Range Range `json:"range"`
	Noise Noise `json:"noise"`
	// Points are in order of their first measurement. There are at most MaxPoints.
	Points []Point `json:"points,omitempty"`
	// MemoryLimit bounds the memory of a point; 0 if unknown.
	MemoryLimit growth.MiB `json:"memoryLimitMiB,omitempty"`
	// Processes is the number of processes of the whole job, of which each has a batch.
	Processes int `json:"processes,omitempty"`
	// Trying is set while a size is tried. Sizes from RejectedFrom upwards and from RejectedUpTo downwards were tried and
	// rolled back; 0 means none.
	Trying       bool `json:"trying,omitempty"`
	RejectedFrom int  `json:"rejectedFrom,omitempty"`
	RejectedUpTo int  `json:"rejectedUpTo,omitempty"`
}

// Observe adds an interval in which the job ran with one size.
func (s State) Observe(batch int, step growth.Seconds, memory growth.MiB) State {
	seen := Point{Batch: batch, Step: step, Intervals: 1, Memory: s.neededBy(batch, memory)}
	if !seen.valid() {
		return s
	}
	s.Points = slices.Clone(s.Points)
	at := slices.IndexFunc(s.Points, func(p Point) bool { return p.Batch == batch })
	if at < 0 {
		if len(s.Points) < MaxPoints {
			s.Points = append(s.Points, seen)
		}
		return s
	}
	p := &s.Points[at]
	if change := float64(step / p.Step); p.Intervals >= minIntervals && (change > newConditions || change < 1/newConditions) {
		s.scale(at, change)
	}
	p.Intervals = min(p.Intervals+1, maxIntervals)
	step = growth.Seconds(clampTo(float64(step), float64(p.Step)/outlier, float64(p.Step)*outlier))
	p.Step += (step - p.Step) / growth.Seconds(p.Intervals)
	p.Memory = max(p.Memory, seen.Memory)
	return s
}

// neededBy returns the memory in use if it is what a size needs; 0 if it may be more. Allocators keep what a larger size has needed.
func (s State) neededBy(batch int, used growth.MiB) growth.MiB {
	larger := func(p Point) bool { return p.Batch > batch }
	if slices.ContainsFunc(s.Points, larger) {
		return 0
	}
	return max(0, used)
}

// scale changes the step times of all other points as much as the mean of one point will change. When another job comes or goes,
// all sizes become slower or faster.
func (s State) scale(at int, change float64) {
	n := float64(min(s.Points[at].Intervals+1, maxIntervals))
	factor := 1 + (clampTo(change, 1.0/outlier, outlier)-1)/n
	for i := range s.Points {
		if i != at {
			s.Points[i].Step = growth.Seconds(clampTo(float64(s.Points[i].Step)*factor, 1e-9, float64(maxStep)))
		}
	}
}

// Efficiency is the value of a sample at a size, relative to one at the job's own size.
func (s State) Efficiency(batch int) float64 {
	low, high := s.Noise.Scale()
	processes := float64(min(max(1, s.Processes), MaxBatch))
	return s.Range.Rule.Efficiency(low, high, float64(s.Range.Default)*processes, float64(batch)*processes)
}

// point returns the valid point of a size.
func (s State) point(batch int) (Point, bool) {
	for _, p := range s.Points {
		if p.Batch == batch && p.valid() {
			return p, true
		}
	}
	return Point{}, false
}

// validPoints returns the points that can be used: the first one of each size.
func (s State) validPoints() []Point {
	all := s.Points[:min(len(s.Points), MaxPoints)]
	points := make([]Point, 0, len(all))
	for _, p := range all {
		if p.valid() && !slices.ContainsFunc(points, func(q Point) bool { return q.Batch == p.Batch }) {
			points = append(points, p)
		}
	}
	return points
}

// Value is the goodput of a job with a batch size.
type Value struct {
	Batch int `json:"batch"`
	// Goodput is in samples per second, as much as they are worth in a batch of the job's own size.
	Goodput growth.PerSecond `json:"goodput"`
	// Step is the time of a step, and Efficiency the value of a sample.
	Step       growth.Seconds `json:"stepSeconds"`
	Efficiency float64        `json:"efficiency"`
	// Memory is what the size is predicted to need; 0 if that is unknown.
	Memory   growth.MiB `json:"memoryMiB,omitempty"`
	Measured bool       `json:"measured"`
}

// Values predicts the goodput at all candidates, in order of their size. It is empty before the first measurement.
func (s State) Values() []Value {
	points := s.validPoints()
	if len(points) == 0 || !s.Range.valid() {
		return nil
	}
	c := fitCurve(points)
	var values []Value
	for _, b := range s.candidates() {
		values = append(values, s.value(c, b))
	}
	return values
}

func (s State) value(c curve, batch int) Value {
	v := Value{Batch: batch, Step: growth.Seconds(c.at(float64(batch))), Efficiency: s.Efficiency(batch)}
	v.Memory, _ = s.memory(batch)
	_, v.Measured = s.point(batch)
	v.Goodput = growth.PerSecond(float64(batch) / float64(v.Step) * v.Efficiency)
	return v
}
