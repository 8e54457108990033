package batchsize

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/wire"
)

const (
	interval  = 10 * time.Second
	intervals = 180 // half an hour
	// noise is the relative deviation of the mean step time of an interval.
	noise = .05
)

// Simulated is the result of one seed.
type Simulated struct {
	// Size is the last one, Points the number of sizes that were measured, RolledBack that of the trials that were taken back.
	Size, Points, RolledBack int
	// OfBest is the goodput of Size relative to that of the best size, and OwnOfBest that of the job's own size.
	OfBest, OwnOfBest float64
}

// simulation is a simulated job.
type simulation struct {
	Curve
	random *rand.Rand
	size   int
	steps  float64
}

// Simulate brings a simulated job to its size.
func (c Curve) Simulate(seed uint64) Simulated {
	now := time.Unix(0, 0)
	s := &simulation{Curve: c, random: rand.New(rand.NewPCG(seed, 1)), size: c.Range.Default}
	d := newDriver(now, interval)
	for range intervals {
		if config := d.take(now); config != nil {
			d.report(now, s.apply(*config))
		}
		now = now.Add(interval)
		d.report(now, s.progress())
		d.tick(now, 0)
	}
	_, best := c.Best()
	return Simulated{
		Size:       s.size,
		Points:     d.points(),
		RolledBack: d.rolledBack,
		OfBest:     c.Goodput(s.size) / best,
		OwnOfBest:  c.Goodput(c.Range.Default) / best,
	}
}

// apply uses a config from now on.
func (s *simulation) apply(c wire.Config) wire.Ack {
	if c.BatchSize != nil {
		s.size = *c.BatchSize
	}
	return wire.Ack{Generation: c.Generation, Applied: wire.Values{BatchSize: &s.size}}
}

// progress is the report of an interval.
func (s *simulation) progress() wire.Progress {
	step := float64(s.Step(float64(s.size))) * math.Exp(noise*s.random.NormFloat64())
	made := max(1, math.Round(interval.Seconds()/step))
	s.steps += made
	size := s.size
	return wire.Progress{
		Step:        int64(s.steps),
		Steps:       int64(made),
		Samples:     int64(made) * int64(size),
		StepSeconds: growth.Seconds(step),
		BatchSize:   &size,
		Batch: &wire.Batch{
			Default:      s.Range.Default,
			Min:          s.Range.Min,
			Max:          s.Range.Max,
			LearningRate: string(s.Range.Rule),
		},
		Gradients: s.gradients(),
		GPUMemory: 1024 + growth.MiB(size),
		Metrics:   wire.Metrics{{Name: "loss", Value: math.Exp(.02*s.random.NormFloat64()) / (1 + s.steps/1e4)}},
	}
}

// gradients compares four pairs of gradients with their means, as the shim does. Their noise has the job's scale.
func (s *simulation) gradients() *wire.Gradients {
	const count = 4
	relative := 0.0
	for range count {
		relative += s.pair() / count
	}
	return &wire.Gradients{Count: count, Small: int64(s.size), SmallSquared: 1, Large: int64(2 * s.size), LargeSquared: relative}
}

// pair returns the squared norm of the mean of two gradients relative to that of one. As many dimensions as a gradient has here deviate
// about as much as those of the jobs of benchmarks/jobs.
func (s *simulation) pair() float64 {
	const dimensions = 16
	deviation := math.Sqrt(s.Scale / float64(s.size) / dimensions) // relative to the true gradient
	var one, mean float64
	for i := range dimensions {
		first, second := deviation*s.random.NormFloat64(), deviation*s.random.NormFloat64()
		if i == 0 {
			first, second = first+1, second+1
		}
		one += (first*first + second*second) / 2
		mean += (first + second) * (first + second) / 4
	}
	return mean / one
}
