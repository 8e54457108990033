package extenderbench

import (
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// Goals compares the results with their targets.
func (m Measured) Goals() []results.Goal {
	return slices.Concat(m.serviceGoals(), m.linearGoals(), m.throughputGoals(), m.startGoals())
}

func (m Measured) serviceGoals() []results.Goal {
	var goals []results.Goal
	for _, s := range m.Service {
		where := fmt.Sprintf(", %d names, %.0f %% full", s.Nodes, 100*s.Full)
		share := results.Measured("filter + prioritize, share of the null extender's"+where, "×", s.Ratios)
		tail := results.Measured("filter + prioritize, p99 over p50"+where, "×", []float64{s.Tail}).AtMost(3)
		if s.Nodes == 5000 {
			share = share.AtMost(0.4)
		}
		goals = append(goals, share, tail,
			results.Measured("the same, null extender"+where, "×", []float64{s.NullTail}),
			results.Measured("the same, of all turns taken"+where, "×", []float64{s.AllTail}),
			results.Measured("the same, of all turns taken, null extender"+where, "×", []float64{s.AllNullTail}),
			results.Measured("turns taken"+where, "turns", []float64{float64(s.Taken)}),
			results.Measured("time that the hypervisor took"+where, "%", s.Stolen),
			results.Measured("CPU of the API server and its etcd, of one core"+where, "%", s.Aside),
			results.Measured("filter + prioritize"+where, "ms", s.Ours),
			results.Measured("filter + prioritize, null extender"+where, "ms", s.Null))
	}
	return goals
}

func (m Measured) linearGoals() []results.Goal {
	if len(m.Linear) < 2 {
		return nil
	}
	first, last := m.Linear[0], m.Linear[len(m.Linear)-1]
	perName := func(l Linear) float64 { return l.All / float64(l.Nodes) }
	grown := results.Measured(fmt.Sprintf("filter per name, %d names over %d", last.Nodes, first.Nodes), "×", []float64{perName(last) / perName(first)})
	other := results.Measured(fmt.Sprintf("filter of %d names, of %d nodes over %d", fewNames, last.Nodes, first.Nodes), "×", []float64{last.Few / first.Few})
	goals := []results.Goal{grown.AtMost(1.25), other.AtMost(1.25)}
	for _, l := range m.Linear {
		goals = append(goals, results.Measured(fmt.Sprintf("filter of %d names", l.Nodes), "ms", []float64{l.All}))
	}
	return goals
}

func (m Measured) throughputGoals() []results.Goal {
	of := func(extender string, figure func(Throughput) float64) []float64 {
		var values []float64
		for _, t := range m.Throughput {
			if t.Extender == extender {
				values = append(values, figure(t))
			}
		}
		return values
	}
	rate := func(t Throughput) float64 { return t.PodsPerSecond }
	null := of("null", rate)
	if len(null) == 0 {
		return nil
	}
	var goals []results.Goal
	for _, policy := range []string{"null", "binpack", "growth"} {
		goals = append(goals,
			results.Measured("pods per second, "+policy, "pods/s", of(policy, rate)),
			results.Measured("create to bound p50, "+policy, "ms", of(policy, func(t Throughput) float64 { return t.P50 })),
			results.Measured("create to bound p99, "+policy, "ms", of(policy, func(t Throughput) float64 { return t.P99 })))
		for _, program := range []string{"extender", "bus", "API server", "its etcd", "scheduler"} {
			goals = append(goals, results.Measured("CPU for a pod, "+program+", "+policy, "ms", of(policy, func(t Throughput) float64 { return t.CPU[program] })))
		}
		if policy == "null" {
			continue
		}
		goals = append(goals,
			results.Measured("pods per second, "+policy+", share of the null extender's", "×", ratios(of(policy, rate), null)).AtLeast(0.95),
			results.Measured("API writes per pod, "+policy, "writes", of(policy, func(t Throughput) float64 { return float64(t.Writes) / float64(t.Pods) })).AtMost(1),
			results.Measured("over-committed GPUs, "+policy, "GPUs", of(policy, func(t Throughput) float64 { return float64(t.OverCommitted) })).AtMost(0))
	}
	return goals
}

func (m Measured) startGoals() []results.Goal {
	if len(m.Start) == 0 {
		return nil
	}
	var seconds, peaks []float64
	for _, s := range m.Start {
		seconds, peaks = append(seconds, s.Seconds), append(peaks, s.PeakMB)
	}
	return []results.Goal{
		results.Measured("cold start to ready", "s", seconds).AtMost(5.5),
		results.Measured("peak memory", "MB", peaks).AtMost(150),
	}
}
