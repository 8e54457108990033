package programs

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

const (
	// MaxPoints bounds the points of a run's metric. They are enough: a curve counts as similar within 10 % of the improvement.
	MaxPoints = 32
	// MaxBytes bounds the names and numbers of a run, in bytes.
	MaxBytes = 4 << 10
	// digits is the number of significant digits of measured values.
	digits = 5
	// maxSteps and maxWork bound steps and work of one run. maxValue bounds a metric, so that differences are finite.
	maxSteps, maxWork, maxValue = 1e12, 1e12, 1e150
)

// Run is one run of a program, as nodes exchange it.
type Run struct {
	// Pod identifies the run. Job is the pod's namespace and name, Node where it ran.
	Pod  growth.PodUID   `json:"pod"`
	Job  string          `json:"job"`
	Node growth.NodeName `json:"node,omitempty"`
	// Ended is when it ended, by the clock of its node. It only orders runs.
	Ended time.Time         `json:"ended"`
	Whole remaining.Profile `json:"whole"`
	// First is the first report of the metric, Points are means of reports by steps.
	First  *float64 `json:"first,omitempty"`
	Points []Point  `json:"points"`
}

// Namespace returns the namespace of the run's job.
func (r Run) Namespace() string {
	namespace, _, _ := strings.Cut(r.Job, "/")
	return namespace
}

// Point is a step, the mean of the metric's reports around it, and their number.
type Point [3]float64

// WithCurve returns the run with a curve, reduced to MaxPoints points of 5 digits, and with costs of as many digits.
func (r Run) WithCurve(c remaining.Curve) Run {
	r.Ended = r.Ended.UTC().Truncate(time.Second)
	r.Whole.StartupCost = growth.Work(round(float64(r.Whole.StartupCost)))
	r.Whole.StepCost = growth.Work(round(float64(r.Whole.StepCost)))
	c = c.Thinned(MaxPoints)
	if c.First != nil {
		first := round(*c.First)
		r.First = &first
	}
	r.Points = make([]Point, len(c.Points))
	for i, p := range c.Points {
		r.Points[i] = Point{round(p.Step), round(p.Value), float64(p.Reports)}
	}
	return r
}

// Curve returns the curve of a valid run.
func (r Run) Curve() remaining.Curve {
	c := remaining.Curve{First: r.First, Points: make([]remaining.Point, len(r.Points))}
	for i, p := range r.Points {
		c.Points[i] = remaining.Point{Step: p[0], Value: p[1], Reports: int(p[2])}
	}
	return c
}

// Validate returns why a run is impossible.
func (r Run) Validate() error {
	size := len(r.Pod) + len(r.Job) + len(r.Node)
	for _, n := range r.Whole.Numbers {
		size += len(n)
	}
	w := r.Whole
	switch {
	case r.Pod == "":
		return errors.New("a run without a pod")
	case size > MaxBytes:
		return fmt.Errorf("the run of %.100s has %d bytes of names and numbers, at most %d", r.Job, size, MaxBytes)
	case len(r.Points) == 0 || len(r.Points) > MaxPoints:
		return fmt.Errorf("the run of %.100s has %d points, 1 to %d", r.Job, len(r.Points), MaxPoints)
	case !within(w.Total, maxSteps) || !within(float64(w.StartupCost), maxWork) || !within(float64(w.StepCost), maxWork):
		return fmt.Errorf("the run of %.100s has impossible work: %g steps of %g after %g",
			r.Job, w.Total, float64(w.StepCost), float64(w.StartupCost))
	case w.Unit != growth.CoreSecond && w.Unit != growth.GPUSecond:
		return fmt.Errorf("the run of %.100s has work in an unknown unit %.20q", r.Job, string(w.Unit))
	case r.First != nil && !within(math.Abs(*r.First), maxValue):
		return fmt.Errorf("the run of %.100s begins with %g", r.Job, *r.First)
	}
	return r.validatePoints()
}

func (r Run) validatePoints() error {
	last := 0.0
	for _, p := range r.Points {
		if !within(p[0], maxSteps) || p[0] < last {
			return fmt.Errorf("the run of %.100s has step %g after %g", r.Job, p[0], last)
		}
		if !within(math.Abs(p[1]), maxValue) || p[2] < 1 || !within(p[2], maxSteps) {
			return fmt.Errorf("the run of %.100s has %g reports of %g", r.Job, p[2], p[1])
		}
		last = p[0]
	}
	return nil
}

// within reports whether a number is between 0 and a bound; NaN is not.
func within(x, most float64) bool { return x >= 0 && x <= most }

// round rounds to 5 significant digits, which keeps the encoded form short.
func round(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}
