package fairfinish

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// maxLag is the fraction of its age by which a job of uncertain size may lag behind fair sharing while it may end at
// any time. It bounds the delay of a job that ends in that time.
//
// On GPUs the distance between the likely size and that from which a job may end is larger, by the factor earlierOnGPUs,
// and the larger lag returns part of the slack that this costs. The values are from simulations: with wrong sizes, jobs on
// several GPUs were harmed most, and a third fewer jobs are for 0.3 points of the mean completion.
const (
	maxLag        = 0.025
	maxLagOnGPUs  = 0.03
	earlierOnGPUs = 1.35
)

// minSize returns the size from which on a job may end at any time. On cores, for the objective balanced, it is the lower
// end of the predicted size.
//
// A job that ends earlier than predicted is delayed most under growth, where all jobs wait behind those that have not
// reached their target, and least under finish, where the jobs that end soonest come first. The distance from the
// likely size is therefore about half as large for finish and twice as large for growth.
func (t *instance) minSize(job int) growth.Work {
	low, likely := t.accounts[job].size()
	switch {
	case t.accounts[job].Doubtful:
		return t.plausible
	case math.IsInf(float64(likely), 1):
		return low
	}
	caution := math.Exp2(2 * float64(t.config.Objective-Balanced))
	if t.config.Unit == growth.GPUSecond {
		caution *= earlierOnGPUs
	}
	return likely - growth.Work(caution)*(likely-low)
}

// plausiblePart is the fraction of the smallest known size after which a job of doubtful size may end. It is that of the sizes that
// similar jobs predict.
const plausiblePart = 0.75

// plausibleSize returns the work from which on a job of doubtful size may end at any time: most of the smallest size that is known of
// a job here, and 0 if none is. What other nodes say cannot make it larger. A job waits this long for jobs with less work at most, so
// a size that is far too large delays it only if it is the smallest of all.
func plausibleSize(accounts []Account) growth.Work {
	least := math.Inf(1)
	for _, a := range accounts {
		_, likely := a.size()
		least = min(least, float64(likely))
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return growth.Work(plausiblePart * least)
}

// lag returns the fraction of its age by which a job may lag behind fair sharing from its minSize on. It is 0 for a job
// of unknown size, which would lag without end, and for the objective growth, where almost every job would use all of
// it.
func (t *instance) lag(job int) float64 {
	if t.relaxed[job] {
		return maxHarm
	}
	_, likely := t.accounts[job].size()
	if math.IsInf(float64(likely), 1) {
		return 0
	}
	most := maxLag
	if t.config.Unit == growth.GPUSecond {
		most = maxLagOnGPUs
	}
	return most * min(1, float64((1-t.config.Objective)/(1-Balanced)))
}

// fairTime returns the time at which fair sharing has done the work that a job with its lag must have done at a given
// time. Times are in seconds from now.
func (t *instance) fairTime(job int, at float64) float64 { return at - t.lag(job)*(t.age(job)+at) }

// catchUpTime is the inverse of fairTime: the time until which a job must have done the work that fair sharing has done
// at a given time.
func (t *instance) catchUpTime(job int, at float64) float64 {
	return (at + t.lag(job)*t.age(job)) / (1 - t.lag(job))
}

// age returns the time since the job's arrival, in seconds.
func (t *instance) age(job int) float64 { return float64(t.accounts[job].Age) }
