package corun

import "slices"

// Delays returns the time that a job of each other kind adds to a step of a job, relative to a step alone, where that was
// measured. The delays of present, the kinds of the jobs that compute next to it, add up to what was measured of all of them
// together. Kinds in ended are those of jobs that no longer run.
func (t *Table) Delays(own Kind, present, ended []Kind) map[Kind]float64 {
	delays := map[Kind]float64{}
	for _, other := range slices.Concat(ended, present) {
		if pair, known := t.Predict(own, []Kind{other}); known {
			delays[other] = max(1/pair.Mean-1, least)
		}
	}
	set, known := t.Predict(own, present)
	if !known {
		return delays
	}
	sum := 0.0
	for _, other := range present {
		if _, known := delays[other]; !known {
			delays[other] = 1 // only the set was measured
		}
		sum += delays[other]
	}
	for _, other := range slices.Compact(sorted(present)) {
		delays[other] *= (1/set.Mean - 1) / sum
	}
	return delays
}
