package fairfinish

// Overlap has the measured speeds of a job on a GPU where kernels of several jobs run at the same time, as those of clients of
// MPS do. Plain sharing, the reference for harm, is then what the jobs do next to each other, and not processor sharing.
type Overlap struct {
	// Kind identifies jobs that are equally fast; empty if kernels do not overlap.
	Kind string `json:"kind,omitempty"`
	// Delays has, by kind, the time that another job adds to a step of this one, relative to a step alone. Processor sharing
	// of two jobs is a delay of 1.
	Delays map[string]float64 `json:"delays,omitempty"`
}

// delay returns the delay by a job of a kind, if it was measured.
func (o Overlap) delay(by string) (delay float64, known bool) {
	delay, known = o.Delays[by]
	return delay, known && o.Kind != "" && delay >= 0
}

// overlappingRates returns the rates of jobs whose kernels overlap, in GPU-seconds per second. Each other job adds its delay to
// a step of a job, in the part of the time in which it can use its GPU:
//
//	rate(j) = min(limit(j), 1 / (1 + Σ over k on the GPU of j of limit(k) · delay(j, k)))
//
// known is false if a pair was not measured. The reference is processor sharing until then.
func overlappingRates(accounts []Account) (rates []float64, known bool) {
	for i, a := range accounts {
		slowdown := 1.0
		for k, other := range accounts {
			if k == i || !sharesGPU(a, other) {
				continue
			}
			delay, measured := a.Overlap.delay(other.Overlap.Kind)
			if !measured {
				return nil, false
			}
			slowdown += min(other.Limit/other.width(), 1) * delay
		}
		rates = append(rates, min(a.Limit, a.width()/slowdown))
	}
	return rates, true
}
