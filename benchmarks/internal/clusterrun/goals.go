package clusterrun

import (
	"errors"
	"math"

	"github.com/trellis-gpu/trellis/benchmarks/internal/clustersim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// Usual returns the phase Alone as it would be on a node with a whole core of usual speed.
func Usual(all workload.Workload) Played {
	p := Played{Phase: Alone, Seconds: map[string]float64{}}
	for _, j := range all {
		p.Seconds[j.Name] = float64(j.Work())
	}
	return p
}

// within is the name of the figure that counts the others within their interval.
const within = "figures within the interval of the simulation"

// Goals returns the figures of a run, each with the interval in which it is expected. All have to be in theirs. placed is what is expected
// on the nodes that the jobs were placed on, and nil if these are not known.
func Goals(before, after Played, nodes clustersim.Nodes, expected clustersim.Prediction, placed *clustersim.Prediction) ([]results.Goal, error) {
	if len(before.Seconds) == 0 || len(before.Seconds) != len(after.Seconds) {
		return nil, errors.New("both phases need all jobs")
	}
	values := []float64{
		before.Mean(), before.Makespan, after.Mean(), after.Makespan,
		100 * (after.Mean()/before.Mean() - 1), 100 * (after.Makespan/before.Makespan - 1), float64(len(after.Moves)),
	}
	goals := []results.Goal{
		results.Measured("cost of a switch between jobs", "% of a time slice", []float64{100 * nodes.Switching}),
		results.Measured("start of a pod alone on its node", "s", []float64{nodes.Starting}),
		results.Measured("end of a pod alone on its node", "s", []float64{nodes.Ending}),
	}
	inside := 0
	for i, f := range figures() {
		if f.of(expected).Contains(values[i]) {
			inside++
		}
		goals = append(goals, results.Measured(f.name+": real", f.unit, []float64{values[i]}), f.simulated("", expected))
		if placed != nil {
			goals = append(goals, f.simulated(" on the nodes of the run", *placed))
		}
	}
	all := results.Measured(within+": real", "figures", []float64{float64(inside)}).AtLeast(float64(len(values)))
	return append(goals, all), nil
}

// figures are what a run and the simulation are compared by, in the order of Goals.
func figures() []figure {
	return []figure{
		{"mean completion, default", "s", func(p clustersim.Prediction) clustersim.Range { return p.DefaultCompletion }},
		{"makespan, default", "s", func(p clustersim.Prediction) clustersim.Range { return p.DefaultMakespan }},
		{"mean completion, trellis", "s", func(p clustersim.Prediction) clustersim.Range { return p.TrellisCompletion }},
		{"makespan, trellis", "s", func(p clustersim.Prediction) clustersim.Range { return p.TrellisMakespan }},
		{"change of mean completion", "%", func(p clustersim.Prediction) clustersim.Range { return p.CompletionChange }},
		{"change of makespan", "%", func(p clustersim.Prediction) clustersim.Range { return p.MakespanChange }},
		{"moves", "moves", func(p clustersim.Prediction) clustersim.Range { return p.Moves }},
	}
}

type figure struct {
	name, unit string
	of         func(clustersim.Prediction) clustersim.Range
}

// simulated returns what a prediction says about a figure.
func (f figure) simulated(where string, p clustersim.Prediction) results.Goal {
	r := f.of(p)
	return results.Goal{Name: f.name + ": simulated" + where, Unit: f.unit, Value: tenth(r.Median), Low: tenth(r.Low), High: tenth(r.High)}
}

func tenth(x float64) float64 { return math.Round(10*x) / 10 }
