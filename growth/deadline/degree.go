package deadline

import (
	"cmp"
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Interval is a predicted duration. 80 % of the real ones are between Low and High.
type Interval struct {
	Low    growth.Seconds `json:"low"`
	Likely growth.Seconds `json:"likely"`
	High   growth.Seconds `json:"high"`
}

// Certain returns an interval without uncertainty.
func Certain(s growth.Seconds) Interval { return Interval{Low: s, Likely: s, High: s} }

// plus returns the interval moved by a duration.
func (i Interval) plus(s growth.Seconds) Interval {
	return Interval{Low: i.Low + s, Likely: i.Likely + s, High: i.High + s}
}

// valid reports whether the bounds are in order and none is NaN.
func (i Interval) valid() bool { return i.Low <= i.Likely && i.Likely <= i.High }

// Degree is the timeout degree of a job: by how much it ends after its deadline. A negative degree means that it ends before.
type Degree Interval

// DegreeOf returns the timeout degree of a job with a remaining time and the time to its deadline, which is negative for a deadline
// that has passed.
func DegreeOf(remaining Interval, toDeadline growth.Seconds) Degree {
	return Degree(remaining.plus(-toDeadline))
}

// Late reports whether the job is expected to miss its deadline.
func (d Degree) Late() bool { return d.Likely > 0 }

// Early reports whether the job meets its deadline also if it needs as long as the upper end of its interval.
func (d Degree) Early() bool { return d.High < 0 }

// Claim is what the order depends on in which deadlines claim a resource.
type Claim struct {
	// Work is what has to be done until the deadline.
	Work growth.Work
	// ToDeadline is the time to the deadline.
	ToDeadline growth.Seconds
	// Weight is the job's priority; values that are not positive, or infinite, count as 1.
	Weight float64
	// Name breaks ties.
	Name string
}

// First compares two claims: the one with less work comes first, where a job of weight 2 counts as if it had half of the work. Then the
// earlier deadline comes first. Unknown work comes last.
func First(a, b Claim) int {
	return cmp.Or(
		cmp.Compare(a.weighted(), b.weighted()),
		cmp.Compare(a.ToDeadline, b.ToDeadline),
		cmp.Compare(a.Name, b.Name))
}

// weighted returns the work by weight.
func (c Claim) weighted() float64 {
	weight := c.Weight
	if !(weight > 0) || math.IsInf(weight, 1) {
		weight = 1
	}
	if math.IsNaN(float64(c.Work)) {
		return math.Inf(1)
	}
	return float64(c.Work) / weight
}

// Round returns the degree in whole seconds.
func (d Degree) Round() Degree {
	round := func(s growth.Seconds) growth.Seconds { return growth.Seconds(math.Round(float64(s))) }
	return Degree{Low: round(d.Low), Likely: round(d.Likely), High: round(d.High)}
}
