package sim

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// known knows everything except future arrivals, and guarantees nothing: it serves jobs in the order of package
// fairfinish's index, with true sizes, each with as many cores as it can use. It is not a policy for a node. Its lead
// over harmless is the price of the guarantee and of prediction.
type known struct {
	objective fairfinish.Objective
	cores     float64
}

func (p known) Decide(_ float64, running, _ []*Running) ([]float64, float64) {
	order := make([]int, len(running))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.index(running[j]), p.index(running[i])) })
	shares, next, free := make([]float64, len(running)), interval.Seconds(), p.cores
	for _, i := range order {
		r := running[i]
		shares[i] = max(min(r.Limit, free), dust) // a cgroup's weight is never 0
		free -= shares[i]
		for _, rest := range []float64{r.Need - r.Done, r.Work - r.Done} {
			if shares[i] > dust && rest > dust {
				next = min(next, rest/shares[i])
			}
		}
	}
	return shares, next
}

func (p known) index(r *Running) float64 {
	o, left := float64(p.objective), max(r.Work-r.Done, dust)
	if need := r.Need - r.Done; need > dust {
		return max(o/need, 1/left)
	}
	return (1 - o) / left
}
