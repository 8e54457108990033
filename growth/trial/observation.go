package trial

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Observation is what a job reported in one interval.
type Observation struct {
	// Reported is set if the job reported anything. If not, only Restarted and Paused are valid.
	Reported bool `json:"-"`
	// Samples is the throughput, in samples per second.
	Samples growth.PerSecond `json:"samples,omitempty"`
	// Efficiency is the value of a sample in a batch of this size, relative to one at the job's own size; 0 if unknown.
	Efficiency float64 `json:"efficiency,omitempty"`
	// Value is the mean of the metric. It is valid if HasValue is set.
	Value    float64 `json:"value,omitempty"`
	HasValue bool    `json:"valued,omitempty"`
	// Share is the job's share of what is divided: the CPU pool, or the time of its GPUs.
	Share growth.Share `json:"share,omitempty"`
	// Batch and Loaders are the values that the job reported; 0 and -1 if it never did.
	Batch   int `json:"batch,omitempty"`
	Loaders int `json:"loaders,omitempty"`
	// Restarted is set if the job has restarted since the last observation.
	Restarted bool `json:"-"`
	// Paused is set while the job's user lets it wait.
	Paused bool `json:"-"`
}

// Observations are consecutive observations of a job.
type Observations []Observation

// push appends an observation and keeps the last window of them. After a restart, or a change of batch size or loaders,
// it keeps only the new one. The same holds once the efficiency is known.
func (obs Observations) push(o Observation) Observations {
	if n := len(obs); o.Restarted || (n > 0 && !obs[n-1].comparable(o)) {
		obs = nil
	}
	if len(obs) >= window {
		obs = obs[len(obs)-window+1:]
	}
	return append(append(Observations{}, obs...), o)
}

func (o Observation) comparable(other Observation) bool {
	return o.Batch == other.Batch && o.Loaders == other.Loaders && (o.Efficiency > 0) == (other.Efficiency > 0)
}

// sufficient reports whether the observations can serve as a baseline: a full window with a metric or a throughput.
func (obs Observations) sufficient() bool {
	_, _, known := obs.metricStats()
	return len(obs) == window && (known || obs.meanRate() > 0)
}

func (obs Observations) meanRate() growth.PerSecond {
	sum := growth.PerSecond(0)
	for _, o := range obs {
		sum += o.goodput()
	}
	return sum / growth.PerSecond(max(len(obs), 1))
}

// goodput is the throughput in samples that are worth as much as those at the job's own size.
func (o Observation) goodput() growth.PerSecond {
	if o.Efficiency > 0 {
		return o.Samples * growth.PerSecond(o.Efficiency)
	}
	return o.Samples
}

// unit is that of meanRate, for users.
func (obs Observations) unit() string {
	if len(obs) > 0 && obs[0].Efficiency > 0 {
		return "useful samples/s"
	}
	return "samples/s"
}

func (obs Observations) meanShare() growth.Share {
	sum := growth.Share(0)
	for _, o := range obs {
		sum += o.Share
	}
	return sum / growth.Share(max(len(obs), 1))
}

// metricAlways reports whether each observation has the metric.
func (obs Observations) metricAlways() bool {
	for _, o := range obs {
		if !o.HasValue {
			return false
		}
	}
	return true
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
