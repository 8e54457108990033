package deadlinesim

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
)

// Law is the time of an iteration of a worker by its CPU. CPU is relative to the worker's predicted peak.
//
//	time = Serial + Compute/min(CPU, Usable)
type Law struct {
	Configuration qoredl.Configuration
	// Serial is the part that CPU does not shorten, Compute the rest on a CPU of 1, in seconds.
	Serial, Compute float64
	// Usable is the CPU beyond which an iteration is no shorter.
	Usable float64
}

// Time returns the seconds of an iteration.
func (l Law) Time(cpu float64) float64 { return l.Serial + l.Compute/min(cpu, l.Usable) }

// Use returns the mean CPU that a worker uses with a quota of cpu: none in the serial part.
func (l Law) Use(cpu float64) float64 { return l.Compute / l.Time(cpu) }

// minAllocation is the least CPU of a measurement that counts. Times that were measured with a hundredth of the predicted peak, and are
// as short as with all of it, would mean that the prediction was wrong by that much.
const minAllocation = 0.3

// minLevels is the number of different CPU allocations that a law is fitted to.
const minLevels = 4

// level is the time of an iteration at one allocation of CPU.
type level struct{ cpu, seconds float64 }

// Laws fits a law to each configuration that was measured at minLevels allocations of CPU or more. A law does not extrapolate: it
// is flat beyond the largest measured allocation.
func Laws(rows []qoredl.Iteration) ([]Law, error) {
	times := map[qoredl.Configuration]map[float64][]float64{}
	for _, r := range rows {
		cpu := math.Round(100*r.Allocation.CPU) / 100
		if cpu < minAllocation {
			continue
		}
		if times[r.Configuration] == nil {
			times[r.Configuration] = map[float64][]float64{}
		}
		times[r.Configuration][cpu] = append(times[r.Configuration][cpu], float64(r.Each()))
	}
	var laws []Law
	for configuration, byCPU := range times {
		if len(byCPU) < minLevels {
			continue
		}
		var levels []level
		for _, cpu := range slices.Sorted(maps.Keys(byCPU)) {
			levels = append(levels, level{cpu, median(byCPU[cpu])})
		}
		law := fit(levels)
		law.Configuration = configuration
		laws = append(laws, law)
	}
	if len(laws) == 0 {
		return nil, errors.New("no configuration was measured at four or more allocations of CPU")
	}
	slices.SortFunc(laws, func(a, b Law) int {
		return cmp.Or(
			cmp.Compare(a.Configuration.Batch, b.Configuration.Batch),
			cmp.Compare(a.Configuration.Params, b.Configuration.Params),
			cmp.Compare(a.Configuration.FLOPs, b.Configuration.FLOPs))
	})
	return laws, nil
}

// fit minimises the squared relative errors. Usable is one of the measured allocations. A serial part is assumed only if the error
// is less than half of that without: jobs then use as much CPU as the measurements allow, so that little of it is idle.
func fit(levels []level) Law {
	var best [2]Law
	least := [2]float64{math.Inf(1), math.Inf(1)}
	for _, l := range levels {
		for i, law := range []Law{fitCompute(levels, l.cpu), fitBoth(levels, l.cpu)} {
			if wrong := law.error(levels); wrong < least[i]*0.999 {
				best[i], least[i] = law, wrong
			}
		}
	}
	if least[1] < least[0]/2 {
		return best[1]
	}
	return best[0]
}

// fitCompute is the least-squares solution without a serial part.
func fitCompute(levels []level, usable float64) Law {
	sum, squares := 0.0, 0.0
	for _, l := range levels {
		b := 1 / (min(l.cpu, usable) * l.seconds)
		sum, squares = sum+b, squares+b*b
	}
	return Law{Compute: sum / squares, Usable: usable}
}

// fitBoth is the least-squares solution; that without a serial part if one of the parts would be negative.
func fitBoth(levels []level, usable float64) Law {
	// Relative errors: minimise the sum of (serial·a + compute·b − 1)² with a = 1/seconds, b = 1/(cpu·seconds).
	var aa, ab, bb, a1, b1 float64
	for _, l := range levels {
		a, b := 1/l.seconds, 1/(min(l.cpu, usable)*l.seconds)
		aa, ab, bb, a1, b1 = aa+a*a, ab+a*b, bb+b*b, a1+a, b1+b
	}
	determinant := aa*bb - ab*ab
	if determinant <= 1e-9*aa*bb {
		return fitCompute(levels, usable)
	}
	law := Law{
		Serial:  (a1*bb - b1*ab) / determinant,
		Compute: (b1*aa - a1*ab) / determinant,
		Usable:  usable,
	}
	if law.Serial <= 0 || law.Compute <= 0 {
		return fitCompute(levels, usable)
	}
	return law
}

func (l Law) error(levels []level) float64 {
	sum := 0.0
	for _, v := range levels {
		relative := l.Time(v.cpu)/v.seconds - 1
		sum += relative * relative
	}
	return sum
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
