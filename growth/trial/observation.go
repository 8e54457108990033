package trial

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Observation is what an interval has shown of a job.
type Observation struct {
	// Reported says that the job has said anything; without it nothing else counts but Restarted.
	Reported bool             `json:"-"`
	Samples  growth.PerSecond `json:"samples,omitempty"`
	// Value is the mean of the metric, Valued whether there was any.
	Value    float64 `json:"value,omitempty"`
	HasValue bool    `json:"valued,omitempty"`
	// Share is the CPU that the job was entitled to, a part of the pool.
	Share growth.Share `json:"share,omitempty"`
	// Batch and Loaders are what the job says it runs with; 0 and -1 for a job that never said.
	Batch   int `json:"batch,omitempty"`
	Loaders int `json:"loaders,omitempty"`
	// Restarted says that the job has begun again.
	Restarted bool `json:"-"`
}

// Observations are some in a row.
type Observations []Observation

// with adds one to the last few. Of others than like it nothing is left.
func (ls Observations) push(l Observation) Observations {
	if n := len(ls); l.Restarted || (n > 0 && (ls[n-1].Batch != l.Batch || ls[n-1].Loaders != l.Loaders)) {
		ls = nil
	}
	if len(ls) >= window {
		ls = ls[len(ls)-window+1:]
	}
	return append(append(Observations{}, ls...), l)
}

// comparable tells that there is something to compare with.
func (ls Observations) sufficient() bool {
	_, _, valued := ls.metricStats()
	return len(ls) == window && (valued || ls.meanRate() > 0)
}

func (ls Observations) meanRate() growth.PerSecond {
	sum := growth.PerSecond(0)
	for _, l := range ls {
		sum += l.Samples
	}
	return sum / growth.PerSecond(max(len(ls), 1))
}

func (ls Observations) meanShare() growth.Share {
	sum := growth.Share(0)
	for _, l := range ls {
		sum += l.Share
	}
	return sum / growth.Share(max(len(ls), 1))
}

// values are the metric's mean, and how far apart its values were.
func (ls Observations) metricStats() (mean, spread float64, valued bool) {
	least, most, n := math.Inf(1), math.Inf(-1), 0.0
	for _, l := range ls {
		if l.HasValue {
			n++
			mean += (l.Value - mean) / n
			least, most = min(least, l.Value), max(most, l.Value)
		}
	}
	if n == 0 {
		return 0, 0, false
	}
	return mean, most - least, true
}
