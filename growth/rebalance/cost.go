package rebalance

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

// usualCost is the cost of a move of a program that was never moved, in seconds. Most programs take less.
const usualCost growth.Seconds = 30

// cost returns what a move of a job is expected to take: as long as its own moves, or those of its program.
func (v *view) cost(j Job) growth.Seconds {
	cost, _ := v.measuredCost(j)
	return cost
}

// measuredCost also returns what the cost is based on, for users.
func (v *view) measuredCost(j Job) (growth.Seconds, string) {
	if own, ok := j.History.Cost(); ok {
		return own, "as its last one did"
	}
	if p := v.programs[j.Request.Kind]; p.moved > 0 {
		return p.sum / growth.Seconds(p.moved), fmt.Sprintf("as for %d other jobs of its program", p.moved)
	}
	return usualCost, "assumed"
}
