package remaining

import (
	"cmp"
	"math"
	"slices"
)

const (
	// alike is how far apart two curves may be where both are known, as a part of the way that the longer one has made, to
	// be those of jobs alike. Another seed keeps well below, another learning rate does not.
	maxDistance = 0.1
	// further is how many times as far as a job itself another must have come for its curve to say more; and how much further
	// than the other's curve goes a job may go for that to be the whole of it still.
	minLead = 1.1
	// head is the part of a job by which a curve must have begun to tell where its way begins.
	latestStart = 0.05
)

// Similar returns which of others' curves tell most of what a job that makes total steps still needs, of those that are like its own
// as far as that goes, and go further: all that go to the job's end, the closest first; where none does, the closest one, whose
// end is itself only foretold. As long as the job has no report itself, all are as close, and the furthest comes first.
func (c *Curve) Similar(others []Curve, total float64) (like []int) {
	distance := make([]float64, len(others))
	for i := range others {
		o := &others[i]
		if len(o.Points) < minPoints || o.Points[0].Step > latestStart*max(total, o.lastStep()) || o.lastStep() < minLead*c.lastStep() {
			continue
		}
		if distance[i] = c.distance(o); distance[i] < maxDistance {
			like = append(like, i)
		}
	}
	slices.SortStableFunc(like, func(i, j int) int {
		return cmp.Or(cmp.Compare(distance[i], distance[j]), cmp.Compare(others[j].lastStep(), others[i].lastStep()))
	})
	if whole := slices.DeleteFunc(slices.Clone(like), func(i int) bool { return !others[i].covers(total) }); len(whole) > 0 {
		return whole
	}
	return like[:min(len(like), 1)]
}

// goesTo tells whether a curve goes to the end of a job that makes total steps, or almost.
func (c *Curve) covers(total float64) bool { return total > 0 && total <= minLead*c.lastStep() }

// steps is how far a curve goes.
func (c *Curve) lastStep() float64 {
	if len(c.Points) == 0 {
		return 0
	}
	return c.Points[len(c.Points)-1].Step
}

// apart is the mean distance of a curve from one that goes further, as a part of the way that that one has made.
func (c *Curve) distance(longer *Curve) float64 {
	way := math.Abs(longer.finalValue(len(longer.Points)) - longer.firstValue())
	sum, reports := 0.0, 0.0
	for _, p := range c.Points {
		n := float64(p.Reports)
		sum, reports = sum+n*math.Abs(p.Value-longer.valueAt(p.Step)), reports+n
	}
	switch {
	case reports == 0:
		return 0
	case way == 0:
		return math.Inf(1)
	}
	return sum / reports / way
}

// at is a curve's value at a step, between two points in proportion.
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
