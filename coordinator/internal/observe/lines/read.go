package lines

import (
	"regexp"
	"strconv"

	"github.com/trellis-gpu/trellis/growth/wire"
)

// Sink takes what is found.
type Sink interface {
	// Report takes a report; counted says that its step is a count of reports and not in the text.
	Report(p wire.Progress, counted bool)
	// Restarted says that the container was started again.
	Restarted()
}

// Reader makes reports of lines.
type Reader struct {
	metric  string
	values  []pattern // the first that matches holds the value
	beside  []pattern // find step and total elsewhere in the line
	matches int64
}

// pattern is a regular expression and what its groups are, −1 for what it has none for.
type pattern struct {
	*regexp.Regexp
	value, step, total int
}

// NewReader reads metric by the user's expression, which has at least one group.
func NewReader(metric string, expression *regexp.Regexp) *Reader {
	p := pattern{expression, 1, expression.SubexpIndex("step"), expression.SubexpIndex("total")}
	for p.value < expression.NumSubexp() && (p.value == p.step || p.value == p.total) {
		p.value++ // the first group that is not one of the others
	}
	if p.step == p.value {
		p.step = -1
	}
	return &Reader{metric: metric, values: []pattern{p}}
}

const number = `([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)`

var (
	alone   = pattern{regexp.MustCompile(`^\s*` + number + `\s*$`), 1, -1, -1}
	stepped = pattern{regexp.MustCompile(`(?i)\bstep["']?\s*[:= ]\s*(\d+)(?:\s*/\s*(\d+))?`), -1, 1, 2}
	totaled = pattern{regexp.MustCompile(`(?i)\btotal["']?\s*[:=]\s*(\d+)`), -1, -1, 1}
)

// NewPlain reads metric in the forms that the package's doc lists.
func NewPlain(metric string) *Reader {
	called := regexp.MustCompile(`(?:^|[^\w.-])` + regexp.QuoteMeta(metric) + `["']?\s*[:=]\s*` + number + `(?:[^\w.+-]|$)`)
	return &Reader{metric: metric, values: []pattern{{called, 1, -1, -1}, alone}, beside: []pattern{totaled, stepped}}
}

// Restart begins to count again.
func (r *Reader) Restart() { r.matches = 0 }

// Read returns the report in a line, if it holds one, and whether its step was counted. A metric that is no finite
// number is none.
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
		ok = p.steps(groups, &report)
		for _, other := range r.beside {
			ok = ok && other.steps(other.FindSubmatch(text), &report)
		}
		if !ok {
			return wire.Progress{}, false, false
		}
		r.matches++
		if counted = report.Step < 0; counted {
			report.Step = r.matches
		}
		return report, counted, true
	}
	return wire.Progress{}, false, false
}

// steps fills in what the groups say of them, and tells whether that makes sense.
func (p pattern) steps(groups [][]byte, report *wire.Progress) bool {
	for at, into := range map[int]*int64{p.step: &report.Step, p.total: &report.TotalSteps} {
		if at < 0 || at >= len(groups) || len(groups[at]) == 0 {
			continue
		}
		n, err := strconv.ParseInt(string(groups[at]), 10, 53)
		if err != nil || n < 0 {
			return false
		}
		*into = n
	}
	return true
}

// maxMagnitude is the wire's own bound on a metric.
const maxMagnitude = 1e300
