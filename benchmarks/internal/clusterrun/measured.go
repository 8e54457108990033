package clusterrun

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/benchmarks/internal/clustersim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// Solos returns the jobs as the simulator needs them, with the times that they computed alone.
func Solos(all workload.Workload, alone Played) ([]clustersim.Solo, error) {
	starting, ending := alone.idle()
	var solos []clustersim.Solo
	for _, j := range all {
		seconds, ended := alone.Seconds[j.Name]
		switch {
		case !ended || seconds <= 0:
			return nil, fmt.Errorf("%s has not run alone", j.Name)
		case seconds <= starting+ending:
			return nil, fmt.Errorf("%s took %.0f s alone, and a pod starts and ends in %.0f s: what it computes is too short", j.Name, seconds, starting+ending)
		}
		solos = append(solos, clustersim.Solo{
			Kind:    j.Kind,
			Arrival: j.Arrival.Seconds(),
			Seconds: seconds - starting - ending,
			Length:  min(1.5, max(0.1, float64(j.Steps)/float64(workload.UsualSteps(j.Kind)))),
		})
	}
	return solos, nil
}

// Nodes returns what the first two phases have shown about the nodes.
func Nodes(all workload.Workload, number int, alone, together Played) (clustersim.Nodes, error) {
	switching, err := switchingCost(all, number, alone, together)
	n := clustersim.Nodes{Number: number, Switching: switching}
	n.Starting, n.Ending = alone.idle()
	return n, err
}

// Placed returns the nodes of the jobs in both phases, as clustersim.PredictOn needs them. ok is false if they are not known: a job has
// moved, or the run has not recorded its pods.
func Placed(all workload.Workload, before, after Played) (nodes [2][]int, ok bool) {
	for i, p := range []Played{before, after} {
		for _, j := range all {
			number, err := strconv.Atoi(strings.TrimPrefix(p.Pods[j.Name].Node, nodePrefix))
			if err != nil || len(p.Moves) > 0 {
				return nodes, false
			}
			nodes[i] = append(nodes[i], number-1)
		}
	}
	return nodes, true
}

// switchingCost returns the cost of a switch between jobs, as a part of a time slice: by how much longer the nodes computed for their jobs
// at the same time than one after the other. Of n equal jobs, the next slice is another job's in n−1 of n cases.
func switchingCost(all workload.Workload, nodes int, alone, together Played) (float64, error) {
	idle := func(p Played) float64 {
		starting, ending := p.idle()
		return starting + ending
	}
	after, at, jobs := map[string]float64{}, map[string]float64{}, map[string]float64{} // by node: how long it computes, and for how many
	for _, s := range Together.starts(all, nodes) {
		if alone.Seconds[s.Name] <= 0 || together.Seconds[s.Name] <= 0 {
			return 0, fmt.Errorf("%s has not run both alone and together with others", s.Name)
		}
		after[s.node] += alone.Seconds[s.Name] - idle(alone)
		at[s.node] = max(at[s.node], together.Seconds[s.Name]-idle(together))
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
