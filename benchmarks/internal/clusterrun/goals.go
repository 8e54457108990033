package clusterrun

import (
	"errors"
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/benchmarks/internal/clustersim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// Solos returns the jobs as the simulator needs them, with the lengths that they had alone.
func Solos(all workload.Workload, alone Played) ([]clustersim.Solo, error) {
	var solos []clustersim.Solo
	for _, j := range all {
		seconds, ended := alone.Seconds[j.Name]
		if !ended || seconds <= 0 {
			return nil, fmt.Errorf("%s has not run alone", j.Name)
		}
		solos = append(solos, clustersim.Solo{
			Kind:    j.Kind,
			Arrival: j.Arrival.Seconds(),
			Seconds: seconds,
			Length:  min(1.5, max(0.1, float64(j.Steps)/float64(workload.UsualSteps(j.Kind)))),
		})
	}
	return solos, nil
}

// Switching returns the cost of a switch between jobs, as a part of a time slice: by how much longer the nodes took for their jobs at the
// same time than one after the other. Of n equal jobs, the next slice is another job's in n−1 of n cases.
func Switching(all workload.Workload, nodes int, alone, together Played) (float64, error) {
	after, at, jobs := map[string]float64{}, map[string]float64{}, map[string]float64{} // by node: when all its jobs are done, and their number
	for _, s := range Together.starts(all, nodes) {
		if alone.Seconds[s.Name] <= 0 || together.Seconds[s.Name] <= 0 {
			return 0, fmt.Errorf("%s has not run both alone and together with others", s.Name)
		}
		after[s.node] += alone.Seconds[s.Name]
		at[s.node] = max(at[s.node], together.Seconds[s.Name])
		jobs[s.node]++
	}
	longer, switched := 0.0, 0.0
	for node, n := range jobs {
		if n > 1 {
			longer += at[node] - after[node]
			switched += after[node] * (n - 1) / n
		}
	}
	if switched == 0 {
		return 0, errors.New("no node has run several jobs at the same time")
	}
	return longer / switched, nil
}

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

// Goals returns the figures of a run, each with the interval in which it is expected. All have to be in theirs.
func Goals(before, after Played, switching float64, expected clustersim.Prediction) ([]results.Goal, error) {
	if len(before.Seconds) == 0 || len(before.Seconds) != len(after.Seconds) {
		return nil, errors.New("both phases need all jobs")
	}
	compared := []struct {
		name, unit string
		real       float64
		expected   clustersim.Range
	}{
		{"mean completion, default", "s", before.Mean(), expected.DefaultCompletion},
		{"makespan, default", "s", before.Makespan, expected.DefaultMakespan},
		{"mean completion, trellis", "s", after.Mean(), expected.TrellisCompletion},
		{"makespan, trellis", "s", after.Makespan, expected.TrellisMakespan},
		{"change of mean completion", "%", 100 * (after.Mean()/before.Mean() - 1), expected.CompletionChange},
		{"change of makespan", "%", 100 * (after.Makespan/before.Makespan - 1), expected.MakespanChange},
		{"moves", "moves", float64(len(after.Moves)), expected.Moves},
	}
	goals := []results.Goal{results.Measured("cost of a switch between jobs", "% of a time slice", []float64{100 * switching})}
	inside := 0
	for _, c := range compared {
		if c.expected.Contains(c.real) {
			inside++
		}
		goals = append(goals,
			results.Measured(c.name+": real", c.unit, []float64{c.real}),
			results.Goal{Name: c.name + ": simulated", Unit: c.unit, Value: tenth(c.expected.Median), Low: tenth(c.expected.Low), High: tenth(c.expected.High)})
	}
	all := results.Measured(within+": real", "figures", []float64{float64(inside)}).AtLeast(float64(len(compared)))
	return append(goals, all), nil
}

func tenth(x float64) float64 { return math.Round(10*x) / 10 }
