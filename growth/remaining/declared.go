package remaining

import "github.com/trellis-gpu/trellis/growth"

// FromDeclared estimates the remaining work, in core-seconds, of a job with a declared total. relativeError bounds the error of the
// declaration: 0.3 means ±30 % of the true total.
//
// Low and High span the middle half of the possible range. A job that exceeds its declared total most likely needs half
// of the work that is still possible. A job that exceeds the largest possible total is unknown.
func FromDeclared(total, done growth.Work, relativeError float64) Estimate {
	e := growth.Work(relativeError)
	low := total / (1 + e/2)
	likely := total
	high := total / (1 - e/2)
	if likely <= done {
		largest := total / (1 - e)
		if done >= largest {
			return Estimate{}
		}
		likely = (done + largest) / 2
		high = largest
	}
	return Estimate{
		Low:    max(low-done, 0),
		Likely: likely - done,
		High:   max(high-done, likely-done),
		Known:  true,
	}
}
