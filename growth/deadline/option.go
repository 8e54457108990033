package deadline

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Option is one way to run a job from now on.
type Option struct {
	Name string
	// Resource is the demand of the job, as a fraction of the whole resource. With several resources it is their weighted sum.
	Resource float64
	// Time is the remaining time of the job with this option, without Restart.
	Time Interval
	// Restart is the measured time that it takes to change to this option; 0 for a change in place.
	Restart growth.Seconds
}

// end returns the remaining time of the job if it changes to this option now. A restart can only cost time.
func (o Option) end() Interval { return o.Time.plus(max(o.Restart, 0)) }

// valid reports whether the numbers can be compared.
func (o Option) valid() bool {
	return o.Time.valid() && o.Resource >= 0 && !math.IsInf(o.Resource, 1) && !math.IsNaN(float64(o.Restart))
}

// Sensitivity returns the time that a job gains per unit of resource by changing from its present option to another one; for an
// option with less of the resource, the time that it loses per unit. It is 0 between options that need the same.
func Sensitivity(now, to Option) float64 {
	resource := to.Resource - now.Resource
	gain := float64(now.Time.Likely - to.end().Likely)
	if resource == 0 || math.IsNaN(gain) || math.IsNaN(resource) {
		return 0
	}
	return gain / resource
}

// Best returns the option with the highest score; with equal scores the one with the least resource, then the first by name. An
// option without a valid time, or whose score is NaN or -Inf, is rejected.
func Best(options []Option, score func(Option) float64) (best Option, found bool) {
	top := math.Inf(-1)
	for _, o := range options {
		s := score(o)
		if !o.valid() || math.IsNaN(s) || math.IsInf(s, -1) {
			continue
		}
		if !found || s > top || s == top && smaller(o, best) {
			best, top, found = o, s, true
		}
	}
	return best, found
}

func smaller(a, b Option) bool {
	if a.Resource != b.Resource {
		return a.Resource < b.Resource
	}
	return a.Name < b.Name
}

// InTime returns the option with the least resource with which a job meets its deadline also at the upper end of its interval. If
// there is none, it returns the one that misses the deadline by the least.
func InTime(options []Option, toDeadline growth.Seconds) (Option, bool) {
	return Best(options, func(o Option) float64 {
		return -max(0, float64(o.end().High-toDeadline))
	})
}
