package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// window sums the reports of one interval.
type window struct {
	since      time.Time
	samples    float64
	steps      float64
	step, load float64 // sums of step and load times, in seconds, weighted by steps
	sized      float64 // samples of the steps in steps
	value      float64 // mean of the metric
	values     float64 // number of values in the mean
	reports    int
}

// rates are means over a window.
type rates struct {
	samples    growth.PerSecond
	step, load growth.Seconds
	perStep    float64 // samples per step; 0 if unknown
}

func (w *window) add(p wire.Progress) {
	w.reports++
	steps := float64(max(p.Steps, 1))
	w.samples += float64(p.Samples)
	if p.StepSeconds > 0 {
		w.steps += steps
		w.step += steps * float64(p.StepSeconds)
		w.sized += float64(p.Samples)
		w.load += steps * float64(min(p.LoadSeconds, p.StepSeconds))
	}
}

// addValue updates the mean of the metric. It keeps a mean and not a sum, because a sum could overflow.
func (w *window) addValue(value float64) {
	w.values++
	w.value += (value - w.value) / w.values
}

// close starts a new window and returns the means of the old one. Without a report, the previous means stay.
func (w *window) close(now time.Time, before rates) rates {
	elapsed := now.Sub(w.since).Seconds()
	if elapsed <= 0 {
		return before
	}
	r := before
	if w.samples > 0 || w.steps > 0 {
		r.samples = growth.PerSecond(w.samples / elapsed)
	}
	if w.steps > 0 {
		r.step = growth.Seconds(w.step / w.steps)
		r.load = growth.Seconds(w.load / w.steps)
		r.perStep = w.sized / w.steps
	}
	*w = window{since: now}
	return r
}
