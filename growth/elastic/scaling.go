package elastic

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// The exponent before anything is measured, the deviation of a measured throughput in logarithms, and the bounds of the
// exponent.
const (
	usualExponent, usualDeviation = 0.8, 0.15
	noise                         = 0.05
	leastExponent, mostExponent   = 0.0, 1.0
)

// scaling is the throughput over the number of workers: w^exponent, relative to one worker.
type scaling struct {
	exponent, deviation float64
	widths              int // that were measured
}

// fit estimates the exponent: a regression of the logarithms with a normal prior. It ignores measurements that are not valid.
func fit(measured []Measured) scaling {
	widths := map[int]bool{}
	var x, y []float64
	for _, m := range measured {
		if m.valid() {
			widths[m.Workers] = true
			x, y = append(x, math.Log(float64(m.Workers))), append(y, math.Log(float64(m.Rate)))
		}
	}
	precision := 1 / (usualDeviation * usualDeviation)
	weighted := usualExponent * precision
	if len(widths) > 1 {
		certain := float64(len(x)) * stat.PopVariance(x, nil) / (noise * noise)
		_, exponent := stat.LinearRegression(x, y, nil, false)
		precision += certain
		weighted += certain * exponent
	}
	return scaling{exponent: weighted / precision, deviation: 1 / math.Sqrt(precision), widths: len(widths)}.bounded()
}

func (s scaling) bounded() scaling {
	s.exponent = min(max(s.exponent, leastExponent), mostExponent)
	return s
}

// cautious and hopeful are the scaling one deviation below and above.
func (s scaling) cautious() scaling { s.exponent -= s.deviation; return s.bounded() }
func (s scaling) hopeful() scaling  { s.exponent += s.deviation; return s.bounded() }

// speed is the throughput relative to one worker.
func (s scaling) speed(workers int) float64 { return math.Pow(float64(workers), s.exponent) }

// added is what the last worker adds, relative to one worker alone.
func (s scaling) added(workers int) float64 { return s.speed(workers) - s.speed(workers-1) }

func (s scaling) source() string {
	if s.widths > 1 {
		return "by its throughput at several widths"
	}
	return "as jobs usually scale"
}
