package lines

import (
	"regexp"
	"strconv"

	"github.com/trellis-gpu/trellis/growth/wire"
)

// Sink receives the reports of one container.
type Sink interface {
	// Report receives a report. counted means that its step is the number of reports and not part of the text.
	Report(p wire.Progress, counted bool)
	// Restarted is called when the container has restarted.
	Restarted()
}

// Reader parses reports in lines.
type Reader struct {
	metric  string
	values  []pattern // the first one that matches has the value
	steps   []pattern // find the step and the total anywhere in the line
	matches int64
}

// pattern is a regular expression with the indices of its groups; −1 if it has no such group.
type pattern struct {
	*regexp.Regexp
	value, step, total int
}

// NewReader returns a reader of metric that uses the user's expression, which has at least one group.
func NewReader(metric string, expression *regexp.Regexp) *Reader {
	p := pattern{
		Regexp: expression,
		value:  1,
		step:   expression.SubexpIndex("step"),
		total:  expression.SubexpIndex("total"),
	}
	for p.value < expression.NumSubexp() && (p.value == p.step || p.value == p.total) {
		p.value++ // the first group that is neither the step nor the total
	}
	if p.step == p.value {
		p.step = -1
	}
	return &Reader{metric: metric, values: []pattern{p}}
}

const number = `([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)`

var (
	alone = pattern{regexp.MustCompile(`^\s*` + number + `\s*$`), 1, -1, -1}
	step  = pattern{regexp.MustCompile(`(?i)\bstep["']?\s*[:= ]\s*(\d+)(?:\s*/\s*(\d+))?`), -1, 1, 2}
	total = pattern{regexp.MustCompile(`(?i)\btotal["']?\s*[:=]\s*(\d+)`), -1, -1, 1}
)

// NewPlain returns a reader of metric in the formats listed in the package documentation.
func NewPlain(metric string) *Reader {
	named := regexp.MustCompile(`(?:^|[^\w.-])` + regexp.QuoteMeta(metric) + `["']?\s*[:=]\s*` + number + `(?:[^\w.+-]|$)`)
	return &Reader{
		metric: metric,
		values: []pattern{{named, 1, -1, -1}, alone},
		steps:  []pattern{total, step},
	}
}

// Restart resets the count of reports.
func (r *Reader) Restart() { r.matches = 0 }

// Read returns the report in a line, whether its step is a count of reports, and whether there is a report. A line
// whose metric is not a finite number has none.
func (r *Reader) Read(text []byte) (report wire.Progress, counted, ok bool) {
	for _, p := range r.values {
		groups := p.FindSubmatch(text)
		if groups == nil {
			continue
		}
		value, err := strconv.ParseFloat(string(groups[p.value]), 64)
		if err != nil || !(value >= -maxMagnitude && value <= maxMagnitude) {
			return wire.Progress{}, false, false
		}
		report = wire.Progress{Step: -1, Metrics: map[string]float64{r.metric: value}}
		ok = p.readSteps(groups, &report)
		for _, other := range r.steps {
			ok = ok && other.readSteps(other.FindSubmatch(text), &report)
		}
		if !ok {
			return wire.Progress{}, false, false
		}
		r.matches++
		counted = report.Step < 0
		if counted {
			report.Step = r.matches
		}
		return report, counted, true
	}
	return wire.Progress{}, false, false
}

// readSteps sets the step and the total of a report from the groups that matched. It returns false if one is invalid.
func (p pattern) readSteps(groups [][]byte, report *wire.Progress) bool {
	for group, into := range map[int]*int64{p.step: &report.Step, p.total: &report.TotalSteps} {
		if group < 0 || group >= len(groups) || len(groups[group]) == 0 {
			continue
		}
		n, err := strconv.ParseInt(string(groups[group]), 10, 53)
		if err != nil || n < 0 {
			return false
		}
		*into = n
	}
	return true
}

// maxMagnitude is the bound on a metric in package wire.
const maxMagnitude = 1e300
