package trial

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Observation is what a job reported in one interval.
type Observation struct {
	// Reported is set if the job reported anything. If not, only Restarted is valid.
	Reported bool `json:"-"`
	// Samples is the throughput, in samples per second.
	Samples growth.PerSecond `json:"samples,omitempty"`
	// Value is the mean of the metric. It is valid if HasValue is set.
	Value    float64 `json:"value,omitempty"`
	HasValue bool    `json:"valued,omitempty"`
	// Share is the job's share of the CPU pool.
	Share growth.Share `json:"share,omitempty"`
	// Batch and Loaders are the values that the job reported; 0 and -1 if it never did.
	Batch   int `json:"batch,omitempty"`
	Loaders int `json:"loaders,omitempty"`
	// Restarted is set if the job has restarted since the last observation.
	Restarted bool `json:"-"`
}

// Observations are consecutive observations of a job.
type Observations []Observation

// push appends an observation and keeps the last window of them. After a restart, or a change of batch size or loaders,
// it keeps only the new one.
func (obs Observations) push(o Observation) Observations {
	if n := len(obs); o.Restarted || (n > 0 && (obs[n-1].Batch != o.Batch || obs[n-1].Loaders != o.Loaders)) {
		obs = nil
	}
	if len(obs) >= window {
		obs = obs[len(obs)-window+1:]
	}
	return append(append(Observations{}, obs...), o)
}

// sufficient reports whether the observations can serve as a baseline: a full window with a metric or a throughput.
func (obs Observations) sufficient() bool {
	_, _, known := obs.metricStats()
	return len(obs) == window && (known || obs.meanRate() > 0)
}

func (obs Observations) meanRate() growth.PerSecond {
	sum := growth.PerSecond(0)
	for _, o := range obs {
		sum += o.Samples
	}
	return sum / growth.PerSecond(max(len(obs), 1))
}

func (obs Observations) meanShare() growth.Share {
	sum := growth.Share(0)
	for _, o := range obs {
		sum += o.Share
	}
	return sum / growth.Share(max(len(obs), 1))
}

// metricStats returns the mean of the metric and the range of its values.
func (obs Observations) metricStats() (mean, spread float64, known bool) {
	low, high := math.Inf(1), math.Inf(-1)
	n := 0.0
	for _, o := range obs {
		if o.HasValue {
			n++
			mean += (o.Value - mean) / n
			low = min(low, o.Value)
			high = max(high, o.Value)
		}
	}
	if n == 0 {
		return 0, 0, false
	}
	return mean, high - low, true
}
