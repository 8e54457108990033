package fairfinish

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// behind is how far a job whose size is uncertain may lag fair sharing while it may end any time, as a part of its time. If
// it ends then, it is that much later.
const maxLag = 0.025

// least is the size from which on a job may end any time: the lower end of its interval for the objective balanced. Where
// everybody waits behind those whose metric is not good yet, a job that ends sooner than was thought is late the most; where
// those that end soonest go first, the least. So it is about half as far down for finish, and twice for growth.
func (t *instance) minSize(job int) growth.CoreSeconds {
	low, likely := t.accounts[job].size()
	if math.IsInf(float64(likely), 1) {
		return low
	}
	caution := math.Exp2(2 * float64(t.config.Objective-Balanced))
	return likely - growth.CoreSeconds(caution)*(likely-low)
}

// lag is how far a job may be behind fair sharing from its least size on, as a part of its time. A job of unknown size has
// none: it would be behind for ever. Nor has any for growth, where nearly everybody would use all of it.
func (t *instance) lag(job int) float64 {
	if _, likely := t.accounts[job].size(); math.IsInf(float64(likely), 1) {
		return 0
	}
	return maxLag * min(1, float64((1-t.config.Objective)/(1-Balanced)))
}

// lagged is the time, in seconds from now, at which fair sharing was as far as a job that may be behind must be at another.
func (t *instance) fairTime(job int, at float64) float64 { return at - t.lag(job)*(t.age(job)+at) }

// caught is when a job must be as far as fair sharing is at a time: the inverse of lagged.
func (t *instance) catchUpTime(job int, at float64) float64 {
	return (at + t.lag(job)*t.age(job)) / (1 - t.lag(job))
}

// age is the time since a job has come, in seconds.
func (t *instance) age(job int) float64 { return float64(t.accounts[job].Age) }
