package remaining

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// presentReports is the number of reports that form the present value of a metric, finalReports the number that
	// form its final value. Smaller numbers would follow the noise.
	presentReports, finalReports = 5, 10
	// targetFraction is the fraction of the improvement that defines the target.
	targetFraction = 0.95
	// minProgress is a lower bound on a job's position on a similar curve, as a fraction of its completed steps.
	minProgress = 0.8
	// maxExtraSteps is the factor by which a job may need more steps than similar jobs.
	maxExtraSteps = 1.1
)

// WorkToTargetAmong estimates the work to target of a job at progress p from the similar curves among others, or from
// the job's own curve if there is none.
//
// similar are the indices of the curves that the estimate is based on. complete reports that these curves reach the
// job's end; otherwise the estimate is an extrapolation.
func (c *Curve) WorkToTargetAmong(
	others []Curve, direction growth.Direction, p Progress,
) (work Estimate, similar []int, complete bool) {
	similar = c.Similar(others, p.Total)
	if len(similar) > 0 {
		first := others[similar[0]]
		complete = first.covers(p.Total)
		if complete {
			similar = slices.DeleteFunc(similar, func(i int) bool {
				return !others[i].trajectory(p.Total).improves(direction)
			})
			work = c.workToTargetLike(others, similar, p)
		} else {
			work = first.WorkToTarget(direction, p)
		}
		if work.Known {
			return work, similar, complete
		}
	}
	return c.WorkToTarget(direction, p), nil, false
}

// workToTargetLike estimates the work to target from the mean number of steps at which similar curves reached it.
//
// The mean is used because the closest curve is not a better predictor: similar runs may reach the target at steps that
// differ by a seventh. The estimate counts steps and not metric values because runs end at values that differ by a few
// per cent: a job may never reach another run's target value and still be at its own end. A job whose metric is worse
// than the similar runs' at the same step is moved back by up to a fifth of its steps, and High allows 10 % more steps
// for any job.
func (c *Curve) workToTargetLike(others []Curve, similar []int, p Progress) Estimate {
	if len(similar) == 0 || !(p.StepCost > 0) {
		return Estimate{}
	}
	var target, position float64
	for _, i := range similar {
		t := others[i].trajectory(p.Total)
		target += t.stepAt(targetFraction)
		position += c.position(t, p)
	}
	target /= float64(len(similar))
	position /= float64(len(similar))
	work := func(step float64) growth.Work {
		return p.StartupCost + growth.Work(max(0, step-position))*p.StepCost
	}
	return Estimate{
		Low:    work(target),
		Likely: work(target),
		High:   work(max(target, min(maxExtraSteps*target, p.Total))),
		Known:  true,
		Unit:   p.Unit,
	}
}

// position returns the step of another run's trajectory at which the job is: the mean of its own steps and of the step
// at which the other metric had improved as much.
func (c *Curve) position(t trajectory, p Progress) float64 {
	if len(c.Points) == 0 {
		return p.Done
	}
	byMetric := t.stepAt(t.fractionDone(c.Points))
	return min(max((p.Done+byMetric)/2, minProgress*p.Done), p.Done)
}

// trajectory is a metric from its first report to the end of a job.
type trajectory struct {
	begin, end float64 // values of the metric
	points     []Point // up to the end of the job
	total      float64 // steps of the job
}

// trajectory returns the trajectory of a job with total steps.
func (c *Curve) trajectory(total float64) trajectory {
	n := 1
	for n < len(c.Points) && c.Points[n].Step <= total {
		n++
	}
	return trajectory{
		begin:  c.firstValue(),
		end:    c.finalValue(n),
		points: c.Points[:n],
		total:  total,
	}
}

// improves reports whether the metric ends better than it began.
func (t trajectory) improves(direction growth.Direction) bool {
	return (t.begin-t.end)*float64(direction) > 0
}

// fraction returns the fraction of the trajectory's improvement at a value of the metric.
func (t trajectory) fraction(value float64) float64 { return (t.begin - value) / (t.begin - t.end) }

// fractionDone returns the largest fraction of the improvement that the points of another curve have made.
func (t trajectory) fractionDone(points []Point) (largest float64) {
	for i := range points {
		value, reports := presentValue(points[i:])
		if reports >= presentReports {
			largest = max(largest, t.fraction(value))
		}
	}
	return largest
}

// stepAt returns the step at which a fraction of the improvement was made.
func (t trajectory) stepAt(fraction float64) float64 {
	for i, p := range t.points {
		value, _ := presentValue(t.points[i:])
		if t.fraction(value) >= fraction {
			return p.Step
		}
	}
	return t.total
}

// firstValue returns the first report, after which a metric often improves the most.
func (c *Curve) firstValue() float64 {
	if c.First != nil {
		return *c.First
	}
	return c.Points[0].Value
}

// finalValue returns the mean of the last reports of the first n points.
func (c *Curve) finalValue(n int) float64 {
	first := n
	reports := 0
	for first > 0 && reports < finalReports {
		first--
		reports += c.Points[first].Reports
	}
	return mean(c.Points[first:n])
}

// presentValue returns the mean of the first reports of points, and the number of reports in it.
func presentValue(points []Point) (value float64, reports int) {
	n := 0
	for n < len(points) && reports < presentReports {
		reports += points[n].Reports
		n++
	}
	return mean(points[:n]), reports
}

func mean(points []Point) float64 {
	sum := points[0]
	for _, p := range points[1:] {
		sum = merge(sum, p)
	}
	return sum.Value
}
