package flowcon

import "github.com/trellis-gpu/trellis/growth"

// Requests turns shares of a pool into CPU requests: whole thousandths of a core, none below least, never more than
// the pool in all. A pool too small for that many least parts yields nil: nothing can be divided.
func Requests(shares []growth.Share, pool, least growth.MilliCPU) []growth.MilliCPU {
	if pool < least*growth.MilliCPU(len(shares)) {
		return nil
	}
	requests := make([]growth.MilliCPU, len(shares))
	lifted := make([]bool, len(shares))
	for {
		// Whoever falls below the least part is lifted to it, and the rest shares what that leaves; which may push
		// another one below. Each round lifts at least one, so this ends.
		spare, sum := pool, growth.Share(0)
		for i := range shares {
			if lifted[i] {
				spare -= least
			} else {
				sum += shares[i]
			}
		}
		again := false
		for i := range shares {
			switch {
			case lifted[i]:
				requests[i] = least
			case sum <= 0:
				lifted[i], again = true, true
			default:
				requests[i] = (shares[i] / sum).Of(spare)
				if requests[i] < least {
					lifted[i], again = true, true
				}
			}
		}
		if !again {
			return requests
		}
	}
}
