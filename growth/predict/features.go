package predict

import (
	"math"

	"github.com/trellis-gpu/trellis/growth/internal/numerics"
)

// The reported values, by their logarithms.
const (
	batch = iota
	flops
	params
	cpu
	memory
	reported
)

// cpuExponent is that of the CPU allocation in the law that the trees correct: one half, as if half of the time of an
// iteration depended on it. The trees learn what is true.
const cpuExponent = -0.5

// features are the reported values and their ratios. Trees split by one feature at a time, so a ratio that matters must be
// a feature.
type features [reported + 4]float64

// values are logarithms of the reported values. NaN is unknown.
type values [reported]float64

func valuesOf(j Job, a Allocation) values {
	v := values{batch: j.Batch, flops: j.FLOPs, params: j.Params, cpu: a.CPU, memory: a.Memory}
	for n := range v {
		if v[n] = positive(v[n]); v[n] == 0 {
			v[n] = math.NaN()
		} else {
			v[n] = math.Log(v[n])
		}
	}
	return v
}

// medians returns the median of each value, 0 where it is unknown for all.
func medians(all []values) (m values) {
	for n := range m {
		var known []float64
		for _, v := range all {
			if !math.IsNaN(v[n]) {
				known = append(known, v[n])
			}
		}
		if len(known) > 0 {
			m[n] = numerics.Median(known)
		}
	}
	return m
}

// or returns the values with those of another where they are unknown.
func (v values) or(other values) values {
	for n := range v {
		if math.IsNaN(v[n]) {
			v[n] = other[n]
		}
	}
	return v
}

// features derives the ratios. All values must be known.
func (v values) features() (f features) {
	copy(f[:], v[:])
	f[reported] = v[flops] - v[params]
	f[reported+1] = v[flops] - v[batch]
	f[reported+2] = v[params] + v[batch]
	f[reported+3] = v[flops] - v[params] - v[batch]
	return f
}

// law is the logarithm of a time that is proportional to the batch size and depends on the CPU.
func (v values) law() float64 { return v[batch] + cpuExponent*v[cpu] }
