package loop

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// window sums reports up until it is closed.
type window struct {
	since      time.Time
	samples    float64
	steps      float64
	step, load float64 // seconds, weighted by steps
	value      float64 // the metric's mean
	values     float64 // how many that is of
	reports    int
}

// rates are means over a window.
type rates struct {
	samples    growth.PerSecond
	step, load growth.Seconds
}

func (w *window) add(p wire.Progress) {
	w.reports++
	steps := float64(max(p.Steps, 1))
	w.samples += float64(p.Samples)
	if p.StepSeconds > 0 {
		w.steps += steps
		w.step += steps * float64(p.StepSeconds)
		w.load += steps * float64(min(p.LoadSeconds, p.StepSeconds))
	}
}

// measure takes in the metric. The mean is kept as it goes, since a sum of what jobs say need not be finite.
func (w *window) measure(value float64) {
	w.values++
	w.value += (value - w.value) / w.values
}

// close returns the window's means; without a report, those before stand.
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
		r.step, r.load = growth.Seconds(w.step/w.steps), growth.Seconds(w.load/w.steps)
	}
	*w = window{since: now}
	return r
}
