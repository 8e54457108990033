package storm

import (
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// Goals sums the rounds up.
func Goals(rounds []Round) []results.Goal {
	count := func(of func(Findings) []string) []float64 {
		sum := 0
		for _, r := range rounds {
			sum += len(of(r.Findings))
		}
		return []float64{float64(sum)}
	}
	each := func(of func(Round) float64) []float64 {
		var values []float64
		for _, r := range rounds {
			values = append(values, of(r))
		}
		return values
	}
	return []results.Goal{
		results.Measured("wrong-GPU containers", "containers", count(func(f Findings) []string { return f.WrongGPU })).AtMost(0),
		results.Measured("over-committed GPUs", "GPUs", count(func(f Findings) []string { return f.OverCommitted })).AtMost(0),
		results.Measured("drift at rest", "differences", count(func(f Findings) []string { return f.Drift })).AtMost(0),
		results.Measured("pods lost", "pods", count(func(f Findings) []string { return f.Lost })).AtMost(0),
		results.Measured("containers that can not be judged", "containers", count(func(f Findings) []string { return f.Untold })).AtMost(0),
		results.Measured("pods that kubelet refused and that were submitted again", "pods", each(func(r Round) float64 { return float64(len(r.Resubmitted)) })),
		results.Measured("over-committed by our own gauge, at rest", "bytes", []float64{slices.Max(each(func(r Round) float64 { return r.AtRest }))}).AtMost(0),
		results.Measured("over-committed by our own gauge, the most at any look: plans are counted too", "bytes", each(func(r Round) float64 { return r.Gauged })),
		results.Measured("looks at that gauge in a round", "looks", each(func(r Round) float64 { return float64(r.Looks) })),
		results.Measured("rounds", "rounds", []float64{float64(len(rounds))}),
		results.Measured("pods a round", "pods", each(func(r Round) float64 { return float64(r.Count) })),
		results.Measured("kills -9 a round", "kills", each(func(r Round) float64 { return float64(len(r.Strikes)) })),
		results.Measured("a round", "s", each(func(r Round) float64 { return r.Seconds })),
		results.Measured("books agree after a round, pods standing", "s", each(func(r Round) float64 { return r.Settled[0] })),
		results.Measured("books agree after a round, no pod left", "s", each(func(r Round) float64 { return r.Settled[1] })),
	}
}
