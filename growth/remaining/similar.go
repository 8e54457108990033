package remaining

import (
	"cmp"
	"math"
	"slices"
)

const (
	// maxDistance is the largest distance between two similar curves, as a fraction of the longer curve's improvement.
	// Runs that differ only in their random seed stay well below it; runs with different learning rates do not.
	maxDistance = 0.1
	// minLead is the factor by which another curve must be longer than the job's own to add information. A job may also
	// exceed a curve by this factor and still count as covered by it.
	minLead = 1.1
	// latestStart is the fraction of a job by which a curve must have started to show where the metric began.
	latestStart = 0.05
)

// Similar returns the indices of the curves that best predict a job with total steps, of which c is the curve so far.
//
// Candidates are longer than c and similar to it where both are known. If some reach the job's end, Similar returns all
// of these, the closest first. Otherwise it returns the closest candidate. Before the job's first report all candidates
// are equally close, and the longest comes first.
func (c *Curve) Similar(others []Curve, total float64) (similar []int) {
	distance := make([]float64, len(others))
	for i := range others {
		other := &others[i]
		if len(other.Points) < minPoints || other.lastStep() < minLead*c.lastStep() {
			continue
		}
		if other.Points[0].Step > latestStart*max(total, other.lastStep()) {
			continue
		}
		distance[i] = c.distance(other)
		if distance[i] < maxDistance {
			similar = append(similar, i)
		}
	}
	slices.SortStableFunc(similar, func(i, j int) int {
		return cmp.Or(
			cmp.Compare(distance[i], distance[j]),
			cmp.Compare(others[j].lastStep(), others[i].lastStep()),
		)
	})
	complete := slices.DeleteFunc(slices.Clone(similar), func(i int) bool { return !others[i].covers(total) })
	if len(complete) > 0 {
		return complete
	}
	return similar[:min(len(similar), 1)]
}

// covers reports whether the curve reaches the end of a job with total steps, or almost.
func (c *Curve) covers(total float64) bool { return total > 0 && total <= minLead*c.lastStep() }

// lastStep returns the last step of the curve; 0 if it is empty.
func (c *Curve) lastStep() float64 {
	if len(c.Points) == 0 {
		return 0
	}
	return c.Points[len(c.Points)-1].Step
}

// distance returns the mean distance from a longer curve, as a fraction of the longer curve's improvement.
func (c *Curve) distance(longer *Curve) float64 {
	improvement := math.Abs(longer.finalValue(len(longer.Points)) - longer.firstValue())
	sum, reports := 0.0, 0.0
	for _, p := range c.Points {
		n := float64(p.Reports)
		sum += n * math.Abs(p.Value-longer.valueAt(p.Step))
		reports += n
	}
	switch {
	case reports == 0:
		return 0
	case improvement == 0:
		return math.Inf(1)
	}
	return sum / reports / improvement
}

// valueAt interpolates the metric linearly at a step.
func (c *Curve) valueAt(step float64) float64 {
	i, exact := slices.BinarySearchFunc(c.Points, step, func(p Point, step float64) int {
		switch {
		case p.Step < step:
			return -1
		case p.Step > step:
			return 1
		}
		return 0
	})
	switch {
	case exact || i == 0:
		return c.Points[i].Value
	case i == len(c.Points):
		return c.Points[i-1].Value
	}
	a, b := c.Points[i-1], c.Points[i]
	return a.Value + (b.Value-a.Value)*(step-a.Step)/(b.Step-a.Step)
}
