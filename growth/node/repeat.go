package node

import (
	"math"

	"github.com/trellis-gpu/trellis/growth/wire"
)

// lastValue identifies the last value of a job's metric. A progress bar prints its line again when it is redrawn, and a
// logger repeats its last values. Such a line has no new value, so it is no sign that the metric is flat.
type lastValue struct {
	at    position
	value float64
}

// repeats reports whether a value is the last one again, of the same step and epoch. A job that does not name its steps
// repeats nothing: its step is always 0.
func (l *lastValue) repeats(p wire.Progress, value float64) bool {
	next := lastValue{at: positionOf(p), value: value}
	same := math.Float64bits(l.value) == math.Float64bits(value) || math.IsNaN(l.value) && math.IsNaN(value)
	repeated := p.Step > 0 && l.at == next.at && same
	*l = next
	return repeated
}
