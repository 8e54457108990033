package interference

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// mix is an invented GPU with kinds of jobs on it. A job's slowdown has a factor for the job, one for each other job,
// and one for the pair that follows from neither.
type mix struct {
	contention            float64
	activity              []float64
	sensitivity, pressure []float64
	pair                  [][]float64
	crowding              float64
	rng                   *rand.Rand
}

// The spread of the factors, as standard deviations of logarithms, and the noise of a measured speed.
const (
	contentionSpread, kindSpread, pairSpread, setSpread, crowdingSpread = 0.5, 0.35, 0.15, 0.08, 0.15
	// clash is the probability that two kinds compete for one resource. Their excess is clashFactor times as large.
	clash, clashFactor = 0.1, 1.6
	speedNoise         = 0.04
)

func newMix(seed uint64) *mix {
	rng := rand.New(rand.NewPCG(seed, 30))
	w := &mix{rng: rng, contention: 0.45 * math.Exp(contentionSpread*rng.NormFloat64()), crowding: crowdingSpread * rng.NormFloat64()}
	for range 6 + rng.IntN(15) {
		w.activity = append(w.activity, 0.15+0.85*rng.Float64())
		w.sensitivity = append(w.sensitivity, math.Exp(kindSpread*rng.NormFloat64()))
		w.pressure = append(w.pressure, math.Exp(kindSpread*rng.NormFloat64()))
	}
	for range w.activity {
		row := make([]float64, len(w.activity))
		for k := range row {
			row[k] = math.Exp(pairSpread * rng.NormFloat64())
			if rng.Float64() < clash {
				row[k] *= clashFactor
			}
		}
		w.pair = append(w.pair, row)
	}
	return w
}

// set returns the true speeds of kinds on the GPU.
func (w *mix) set(kinds ...int) interference.Measurement {
	m := interference.Measurement{Seconds: growth.Seconds(20 + 200*w.rng.Float64())}
	for i, own := range kinds {
		var excess float64
		for k, other := range kinds {
			if i != k {
				excess += w.pressure[other] * w.activity[other] * w.pair[own][other]
			}
		}
		excess *= w.contention * w.activity[own] * w.sensitivity[own]
		if len(kinds) > 2 {
			excess *= math.Pow(float64(len(kinds)-1), w.crowding) * math.Exp(setSpread*w.rng.NormFloat64())
		}
		m.Set = append(m.Set, interference.Member{
			Kind:     interference.KindOf("synthetic", fmt.Sprint(own)),
			Activity: growth.Share(w.activity[own]),
			Speed:    1 / (1 + excess),
		})
	}
	return m
}

// noisy returns a set as it is measured.
func (w *mix) noisy(m interference.Measurement) interference.Measurement {
	measured := interference.Measurement{Seconds: m.Seconds}
	for _, member := range m.Set {
		member.Speed = min(interference.MaxSpeed, member.Speed*math.Exp(speedNoise*w.rng.NormFloat64()))
		member.Deviation = speedNoise * member.Speed / 2
		measured.Set = append(measured.Set, member)
	}
	return measured
}

// Synthetic measures a part of the pairs of a mix, and few of its triples, and predicts the others.
func Synthetic(seed uint64) ([]Case, error) {
	w := newMix(seed)
	part := 0.2 + 0.6*w.rng.Float64()
	var measured, unseen []interference.Measurement
	add := func(set interference.Measurement, part float64) {
		if w.rng.Float64() < part {
			measured = append(measured, w.noisy(set))
			return
		}
		unseen = append(unseen, set)
	}
	n := len(w.activity)
	for a := range n {
		for b := a; b < n; b++ {
			add(w.set(a, b), part)
		}
	}
	for range 2 * n {
		a := w.rng.IntN(n)
		b := (a + 1 + w.rng.IntN(n-1)) % n
		add(w.set(a, b, w.rng.IntN(n)), part/4)
	}
	m, err := learned(measured)
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, set := range unseen {
		cases = append(cases, predicted(m, set)...)
	}
	return cases, nil
}
