package batchsize

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth/goodput"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// The targets: part of the best fixed size and of the seeds, in per cent, and cost of gradients() in per cent of a step.
const (
	minOfBest    = 95
	minSeeds     = 95
	maxGradients = 1
)

// SimulatedGoals returns the figures of all seeds of a curve.
func SimulatedGoals(c Curve, seeds []Simulated) []results.Goal {
	var ofBest, own, points, back []float64
	reached := 0.0
	for _, s := range seeds {
		ofBest = append(ofBest, 100*s.OfBest)
		own = append(own, 100*s.OwnOfBest)
		points = append(points, float64(s.Points))
		back = append(back, float64(s.RolledBack))
		if 100*s.OfBest >= minOfBest {
			reached += 100 / float64(len(seeds))
		}
	}
	name := "simulated, " + c.Name
	best := results.Measured(name+": of the best size", "%", ofBest)
	within := results.Measured(fmt.Sprintf("%s: seeds at %d %% or more", name, minOfBest), "% of seeds", []float64{reached})
	if !c.Limit {
		best, within = best.AtLeast(minOfBest), within.AtLeast(minSeeds)
	}
	return []results.Goal{
		results.Measured(name+": the job's own size, of the best", "%", own),
		best,
		within,
		results.Measured(name+": measured sizes", "sizes", points).AtMost(goodput.MaxPoints),
		results.Measured(name+": trials taken back", "trials", back),
	}
}

// RealGoals returns the figures of the searches of one kind of real job.
func RealGoals(kind string, searches []Real) []results.Goal {
	var own, ofBest, searched, best, points, seconds []float64
	for _, r := range searches {
		own = append(own, r.part(r.Own, Fixed.efficiency))
		ofBest = append(ofBest, r.part(r.Size, Fixed.efficiency))
		searched = append(searched, r.part(r.Size, Fixed.searched))
		best = append(best, float64(r.Best))
		points = append(points, float64(r.Points))
		seconds = append(seconds, r.Seconds)
	}
	return []results.Goal{
		results.Measured(kind+": the job's own size, of the best", "%", own),
		results.Measured(kind+": of the best fixed size", "%", ofBest).AtLeast(minOfBest),
		results.Measured(kind+": of the best by the noise that the search knew", "%", searched),
		results.Measured(kind+": best fixed size", "samples", best),
		results.Measured(kind+": measured sizes", "sizes", points).AtMost(goodput.MaxPoints),
		results.Measured(kind+": time to the last size", "s", seconds),
	}
}

// GradientGoals returns the cost of gradients() in a job.
func GradientGoals(kind string, periods []Period) []results.Goal {
	var cost []float64
	for _, p := range periods {
		cost = append(cost, 100*(p.With/p.Without-1))
	}
	return []results.Goal{results.Measured(kind+": cost of gradients(), of a step", "%", cost).AtMost(maxGradients)}
}
