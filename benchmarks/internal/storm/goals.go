package storm

import (
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// Goals summarises the rounds.
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
		results.Measured("containers without enough evidence", "containers", count(func(f Findings) []string { return f.Unjudged })).AtMost(0),
		results.Measured("pods that kubelet rejected and that were recreated", "pods", each(func(r Round) float64 { return float64(len(r.Recreated)) })),
		results.Measured("over-committed by the extender's gauge, at rest", "bytes", []float64{slices.Max(each(func(r Round) float64 { return r.AtRest }))}).AtMost(0),
		results.Measured("over-committed by the extender's gauge, maximum; it counts reservations too", "bytes", each(func(r Round) float64 { return r.Gauged })),
		results.Measured("scrapes of that gauge per round", "scrapes", each(func(r Round) float64 { return float64(r.Looks) })),
		results.Measured("rounds", "rounds", []float64{float64(len(rounds))}),
		results.Measured("pods per round", "pods", each(func(r Round) float64 { return float64(r.Count) })),
		results.Measured("kill -9 per round", "kills", each(func(r Round) float64 { return float64(len(r.Strikes)) })),
		results.Measured("duration of a round", "s", each(func(r Round) float64 { return r.Seconds })),
		results.Measured("time until the records agree, some pods running", "s", each(func(r Round) float64 { return r.Settled[0] })),
		results.Measured("time until the records agree, no pod left", "s", each(func(r Round) float64 { return r.Settled[1] })),
	}
}
