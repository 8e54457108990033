package flowcon

import "github.com/trellis-gpu/trellis/growth"

// Requests turns shares of a pool into CPU requests of whole thousandths of a core. No request is below the job's
// minimum, and their sum never exceeds the pool. Requests returns nil if the pool is too small for that.
func Requests(shares []growth.Share, minima []growth.MilliCPU, pool growth.MilliCPU) []growth.MilliCPU {
	least := growth.MilliCPU(0)
	for _, minimum := range minima {
		least += minimum
	}
	if pool < least {
		return nil
	}
	requests := make([]growth.MilliCPU, len(shares))
	raised := make([]bool, len(shares))
	for {
		// A request below the minimum is raised to it, and the others divide the rest. That can push another request
		// below the minimum. Each round raises at least one, so the loop terminates.
		rest := pool
		sum := growth.Share(0)
		for i := range shares {
			if raised[i] {
				rest -= minima[i]
			} else {
				sum += shares[i]
			}
		}
		again := false
		for i := range shares {
			switch {
			case raised[i]:
				requests[i] = minima[i]
				continue
			case sum > 0:
				requests[i] = (shares[i] / sum).Of(rest)
			}
			if sum <= 0 || requests[i] < minima[i] {
				raised[i] = true
				again = true
			}
		}
		if !again {
			return requests
		}
	}
}
