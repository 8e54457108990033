package remaining

import "github.com/trellis-gpu/trellis/growth"

const (
	// near and final are how many reports make a metric's present and its final value: fewer may be noise.
	near, final = 5, 10
	// almost is the part of the way after which a metric is good.
	almost = 0.95
	// slow is the part of its steps that a job is believed to have made at least, by what its metric has come to.
	slow = 0.8
	// later is how many times as many steps as another a job may need: alike, two come to within a seventh or so of each other.
	later = 1.1
)

// NeedAmong is what a job at progress p still needs by the curve of the one of others that is Like it, else by its own; like
// is which one that is, −1 for its own, and foretold says that it has come to this one's end: else its need is a guess, too.
func (c *Curve) NeedAmong(others []Curve, direction growth.Direction, p Progress) (need Estimate, like int, foretold bool) {
	if like = c.Like(others, p.Total); like >= 0 {
		if need = c.NeedLike(others[like], direction, p); need.Known {
			return need, like, others[like].goesTo(p.Total)
		}
	}
	return c.Need(direction, p), -1, false
}

// NeedLike is what a job at progress p still needs if it goes on as another's curve has gone: what is left of the steps after
// which the other was good. By steps, for jobs alike come to ends that are a few per cent apart: a job that is as good as another
// became may be far from its own end, and one that never gets there may have come to it. One that is worse than the other was at
// its step is given up to a quarter more, and any may need a tenth more of the steps. Where the other has not come to the job's
// end yet, or that is not known, it is what the other's fit says.
func (c *Curve) NeedLike(other Curve, direction growth.Direction, p Progress) Estimate {
	if !other.goesTo(p.Total) {
		return other.Need(direction, p)
	}
	w := other.way(p.Total)
	if !(p.PerStep > 0) || (w.begin-w.end)*float64(direction) <= 0 {
		return Estimate{}
	}
	here := p.Done
	if len(c.Points) > 0 {
		here = min(max((here+w.reaches(w.made(c.Points)))/2, slow*here), here)
	}
	need := func(step float64) growth.CoreSeconds {
		return p.Start + growth.CoreSeconds(max(0, step-here))*p.PerStep
	}
	good := w.reaches(almost)
	return Estimate{Low: need(good), Likely: need(good), High: need(max(good, min(later*good, w.total))), Known: true}
}

// way is that of a metric from its first report to the end of a job.
type way struct {
	begin, end float64
	points     []Point // up to there
	total      float64
}

// way is a curve's, for a job that makes total steps.
func (c *Curve) way(total float64) way {
	n := 1
	for n < len(c.Points) && c.Points[n].Step <= total {
		n++
	}
	return way{begin: c.begin(), end: c.final(n), points: c.Points[:n], total: total}
}

// made is the greatest part of the way that points have made at any time.
func (w way) made(points []Point) (most float64) {
	for i := range points {
		if value, reports := present(points[i:]); reports >= near {
			most = max(most, (w.begin-value)/(w.begin-w.end))
		}
	}
	return most
}

// reaches is the step at which a part of the way is made.
func (w way) reaches(part float64) float64 {
	for i, p := range w.points {
		if value, _ := present(w.points[i:]); (w.begin-value)/(w.begin-w.end) >= part {
			return p.Step
		}
	}
	return w.total
}

// begin is where a curve's way begins: its first report, in which a metric often falls the most.
func (c *Curve) begin() float64 {
	if c.First != nil {
		return *c.First
	}
	return c.Points[0].Value
}

// final is the value that a curve has come to before a point.
func (c *Curve) final(point int) float64 {
	first, reports := point, 0
	for first > 0 && reports < final {
		first--
		reports += c.Points[first].Reports
	}
	return mean(c.Points[first:point])
}

// present is a metric's value where points begin, and of how many reports it is the mean.
func present(points []Point) (value float64, reports int) {
	n := 0
	for n < len(points) && reports < near {
		reports += points[n].Reports
		n++
	}
	return mean(points[:n]), reports
}

func mean(points []Point) float64 {
	all := points[0]
	for _, p := range points[1:] {
		all = merged(all, p)
	}
	return all.Value
}
