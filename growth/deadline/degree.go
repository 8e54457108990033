package deadline

import (
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

// Deadline is what the order of deadlines depends on.
type Deadline struct {
	// ToDeadline is the time to the deadline; negative if it has passed.
	ToDeadline growth.Seconds
	// Weight is the job's weight in fair sharing; values that are not positive count as 1.
	Weight float64
	// Name breaks ties.
	Name string
}

// First compares two deadlines: the earlier one comes first, where a job of weight 2 counts as if it had half of the time. A deadline
// that has passed comes before all others, and the longer ago, the earlier; the weight keeps its direction.
func First(a, b Deadline) int {
	switch x, y := a.urgency(), b.urgency(); {
	case x < y:
		return -1
	case x > y:
		return 1
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}

// urgency returns the weighted time to the deadline. Dividing a negative time by the weight would turn the preference around.
func (d Deadline) urgency() float64 {
	left, weight := float64(d.ToDeadline), d.Weight
	if !(weight > 0) || math.IsInf(weight, 1) {
		weight = 1
	}
	switch {
	case math.IsNaN(left):
		return math.Inf(1)
	case left < 0:
		return left * weight
	}
	return left / weight
}

// Round returns the degree in whole seconds.
func (d Degree) Round() Degree {
	round := func(s growth.Seconds) growth.Seconds { return growth.Seconds(math.Round(float64(s))) }
	return Degree{Low: round(d.Low), Likely: round(d.Likely), High: round(d.High)}
}
