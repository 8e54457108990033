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
		return own, "as its own moves took"
	}
	switch p := v.programs[j.Request.Kind]; p.moved {
	case 0:
		return usualCost, "assumed: no move of its program was measured"
	case 1:
		return p.sum, "as that of another job of its program took"
	default:
		return p.sum / growth.Seconds(p.moved), fmt.Sprintf("as those of %d other jobs of its program took", p.moved)
	}
}
