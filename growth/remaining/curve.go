package remaining

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Point is the mean of some reports of a metric.
type Point struct {
	// Work had been done by then, in core-seconds since the job, or the curve, began.
	Work  float64 `json:"work"`
	Value float64 `json:"value"`
	// Reports are how many it is the mean of.
	Reports int `json:"reports"`
}

// Curve is a metric against work. Its zero value is empty; as JSON it survives a restart.
type Curve struct {
	Points []Point `json:"points,omitempty"`
	// Each is how many reports become a point; it doubles whenever there are too many points.
	Each int `json:"each,omitempty"`
}

// most points are kept, however long a job runs.
const most = 64

// Add takes in a report. One that is not finite, or whose work goes backwards, says nothing and is left out.
func (c *Curve) Add(work growth.CoreSeconds, value float64) {
	x := float64(work)
	if !(x >= 0) || math.IsInf(x, 0) || math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	last := len(c.Points) - 1
	if last >= 0 && x < c.Points[last].Work {
		return
	}
	c.Each = max(c.Each, 1)
	if last >= 0 && c.Points[last].Reports < c.Each {
		c.Points[last] = merged(c.Points[last], Point{x, value, 1})
		return
	}
	if len(c.Points) >= most {
		half := c.Points[:0]
		for i := 0; i+1 < len(c.Points); i += 2 {
			half = append(half, merged(c.Points[i], c.Points[i+1]))
		}
		c.Points, c.Each = half, 2*c.Each
	}
	c.Points = append(c.Points, Point{x, value, 1})
}

// Restart forgets the curve: the job has begun anew.
func (c *Curve) Restart() { *c = Curve{} }

func merged(a, b Point) Point {
	n := float64(a.Reports + b.Reports)
	wa, wb := float64(a.Reports)/n, float64(b.Reports)/n
	return Point{Work: wa*a.Work + wb*b.Work, Value: wa*a.Value + wb*b.Value, Reports: a.Reports + b.Reports}
}

// Need is the work from done until the metric has made 95 % of the way that it will have made after total, or ever, if
// total is 0.
func (c *Curve) Need(direction growth.Direction, done, total growth.CoreSeconds) Estimate {
	return c.estimate(direction, done, total, [3]float64{0.95, 0.95, 0.95})
}

// Left is the work from done to the end of a job that has declared no total.
func (c *Curve) Left(direction growth.Direction, done growth.CoreSeconds) Estimate {
	return c.estimate(direction, done, 0, [3]float64{0.97, 0.99, 0.999})
}

// estimate is the work to three parts of the way: at least, likely, at most.
func (c *Curve) estimate(direction growth.Direction, done, total growth.CoreSeconds, parts [3]float64) Estimate {
	low, high, odds, logs := math.Inf(1), 0.0, 0.0, 0.0
	for _, f := range c.fit(direction) {
		low = min(low, f.reaches(parts[0], float64(total)))
		high = max(high, f.reaches(parts[2], float64(total)))
		odds += f.odds
		logs += f.odds * math.Log(f.reaches(parts[1], float64(total)))
	}
	if odds == 0 {
		return Estimate{}
	}
	likely := math.Exp(logs / odds)
	from := func(x float64) growth.CoreSeconds { return max(0, growth.CoreSeconds(x)-done) }
	return Estimate{Low: from(low), Likely: from(likely), High: from(max(high, likely)), Known: true}
}
