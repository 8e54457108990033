package podlog

import (
	"regexp"
	"strconv"

	"github.com/trellis-gpu/trellis/growth/wire"
)

// Reader makes reports of the lines that a pattern matches. The first group is the metric; a group named "step", if
// there is one, is the step, else matches are counted.
type Reader struct {
	metric  string
	pattern *regexp.Regexp
	value   int
	step    int
	matches int64
}

// NewReader reads metric by pattern, which has at least one group.
func NewReader(metric string, pattern *regexp.Regexp) *Reader {
	r := &Reader{metric: metric, pattern: pattern, value: 1, step: pattern.SubexpIndex("step")}
	if r.step == 1 && pattern.NumSubexp() > 1 {
		r.value = 2
	}
	return r
}

// Restart begins to count again.
func (r *Reader) Restart() { r.matches = 0 }

// Read returns the report in a line, if it holds one. A metric that is no number is none.
func (r *Reader) Read(text []byte) (wire.Progress, bool) {
	groups := r.pattern.FindSubmatch(text)
	if groups == nil {
		return wire.Progress{}, false
	}
	value, err := strconv.ParseFloat(string(groups[r.value]), 64)
	if err != nil || !(value >= -maxMagnitude && value <= maxMagnitude) {
		return wire.Progress{}, false
	}
	r.matches++
	p := wire.Progress{Step: r.matches, Metrics: map[string]float64{r.metric: value}}
	if r.step > 0 && r.step != r.value {
		step, err := strconv.ParseInt(string(groups[r.step]), 10, 53)
		if err != nil || step < 0 {
			return wire.Progress{}, false
		}
		p.Step = step
	}
	return p, true
}

// maxMagnitude is the wire's own bound on a metric.
const maxMagnitude = 1e300
