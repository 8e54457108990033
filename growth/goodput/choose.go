package goodput

import (
	"cmp"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// minGain is the predicted relative gain for which a size is measured, and minReturn that for which a job goes to a size that
	// was measured before: both deviate by chance.
	minGain   = 0.02
	minReturn = 0.03
	// earlyPoints is the number of measured sizes below which a prediction for twice the size may err by earlyError: a line through two
	// points with errors of 2.5 %. A size that may be better by minGain is measured then. See possible.
	earlyPoints, earlyError = 4, 0.04
	// minIntervals is the number of intervals at the present size before another one is chosen.
	minIntervals = 4
	// maxOptions is the number of other sizes that Options returns.
	maxOptions = 4
)

// Option is a size that a job can change to at once.
type Option struct {
	Batch int
	// Gain is the predicted goodput relative to that of the present size.
	Gain float64
	// Step and Memory are those predicted with this size. Memory is 0 if unknown.
	Step   growth.Seconds
	Memory growth.MiB
}

// Options returns the present size first, then the sizes that are predicted to be better, best first. It returns nothing for a
// job whose size should not change now.
func (s State) Options(present int) []Option {
	point, measured := s.point(present)
	if !s.Range.valid() || !measured || point.Intervals < minIntervals || s.Trying {
		return nil
	}
	c := fitCurve(s.validPoints())
	now := s.value(c, present)
	options := []Option{s.option(now, now)}
	if !(now.Goodput > 0) {
		return options
	}
	for _, target := range s.targets(c, now) {
		if slices.ContainsFunc(options, func(o Option) bool { return o.Batch == target.Batch }) || len(options) > maxOptions {
			continue
		}
		options = append(options, s.option(target, now))
	}
	return options
}

// Either returns the present size as the only option of a job that may change to an offered one at any time, with the larger step and
// memory of both.
func (s State) Either(present, offered int) Option {
	o := Option{Batch: present, Gain: 1}
	for _, v := range s.Values() {
		if v.Batch == present || v.Batch == offered {
			o.Step, o.Memory = max(o.Step, v.Step), max(o.Memory, v.Memory)
		}
	}
	return o
}

func (s State) option(v, now Value) Option {
	gain := float64(v.Goodput / now.Goodput)
	if !(gain > 0 && gain < math.MaxFloat32) {
		gain = 1
	}
	return Option{Batch: v.Batch, Gain: gain, Step: v.Step, Memory: v.Memory}
}

// targets returns the values of the sizes that are worth a change from the present one, best first. A size that is out of reach
// counts for the measured one on the way to it.
func (s State) targets(c curve, now Value) []Value {
	points := s.validPoints()
	var targets []Value
	for _, b := range s.candidates() {
		v := s.value(c, b)
		if least := now.Goodput * (1 + minGain); !v.Measured && v.Goodput < least && possible(v, now, len(points)) >= least {
			v.Goodput = least
		}
		least := minGain
		if v.Measured {
			least = minReturn
		}
		if v.Goodput < now.Goodput*growth.PerSecond(1+least) {
			continue
		}
		if !v.Measured {
			way, ok := s.wayTo(b, now.Batch, points)
			if !ok || len(points) >= MaxPoints {
				continue
			}
			if way != b {
				way := s.value(c, way)
				way.Goodput = v.Goodput // what is gained in the end
				v = way
			}
		}
		targets = append(targets, v)
	}
	slices.SortStableFunc(targets, func(a, b Value) int { return cmp.Compare(b.Goodput, a.Goodput) })
	return targets
}

// possible returns the most goodput that a size may have which was not measured, while few were. One measured size does not say what part
// of a step is fixed: of a smaller one a step may be shorter in proportion.
func possible(v, now Value, measured int) growth.PerSecond {
	switch {
	case measured >= earlyPoints:
		return v.Goodput
	case measured == 1 && v.Batch < now.Batch:
		return now.Goodput * growth.PerSecond(v.Efficiency/now.Efficiency)
	}
	return v.Goodput * (1 + earlyError)
}

// wayTo returns the next size on the way to one that was not measured: the size itself if it is at most twice or half the present
// one, or else the nearest measured size.
func (s State) wayTo(batch, present int, points []Point) (int, bool) {
	if near(batch, present) {
		return batch, true
	}
	low, high := s.bounds()
	best, found := 0, false
	for _, p := range points {
		if near(batch, p.Batch) && p.Batch >= low && p.Batch <= high && p.Batch != present {
			best, found = p.Batch, true
		}
	}
	return best, found
}

// near reports whether two sizes differ by a factor of at most two.
func near(a, b int) bool { return a <= 2*b && b <= 2*a }
