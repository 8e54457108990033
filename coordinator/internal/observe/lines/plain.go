package lines

import "regexp"

// NewPlain returns a reader of metric in the formats listed in the package documentation.
func NewPlain(metric string) *Reader {
	named := regexp.MustCompile(`(?:^|[^\w.-])` + regexp.QuoteMeta(metric) +
		`["']?\s*[:=]\s*["']?(?:[A-Za-z][\w.]*\()?(` + number + `)\.?(?:[^\w.+-]|$)`)
	return &Reader{
		metric:          metric,
		values:          []pattern{withValue(named), withValue(alone)},
		counts:          []pattern{steps, total, epoch},
		onlyEvaluations: evaluated.MatchString(metric),
		tallies:         map[int]*tally{},
	}
}

const (
	countStart = `(?i)(?:^|[^\w/.-])`
	countEnd   = `["']?\s*[:= ]\s*["']?(\d[\d,]*)`
)

var (
	alone = regexp.MustCompile(`^\s*["']?(` + number + `)["']?\s*$`)
	steps = pattern{
		Regexp: regexp.MustCompile(countStart + `(?:global[_ -]?)?(?:step|iter|iteration)` + countEnd + `(?:\s*/\s*(\d[\d,]*))?`),
		value:  -1, step: 1, total: 2, epoch: -1, rank: -1,
	}
	total = pattern{
		Regexp: regexp.MustCompile(countStart + `(?:total|(?:total|max)[_ ]steps)` + countEnd),
		value:  -1, step: -1, total: 1, epoch: -1, rank: -1,
	}
	epoch = pattern{
		Regexp: regexp.MustCompile(countStart + `epoch` + countEnd),
		value:  -1, step: -1, total: -1, epoch: 1, rank: -1,
	}
)

func withValue(expression *regexp.Regexp) pattern {
	return pattern{Regexp: expression, value: 1, step: -1, total: -1, epoch: -1, rank: -1}
}

// findCounts adds the counts of the last match before the value, or else of the first one after it. It returns false if
// one is invalid.
func (p pattern) findCounts(text []byte, f *found) bool {
	var nearest []int
	for _, at := range matches(p.Regexp, text) {
		if nearest == nil || at[0] < f.at {
			nearest = at
		}
	}
	if nearest == nil {
		return true
	}
	last, ok := p.readCounts(text, nearest, f, 0)
	f.closed = f.closed && closed(text[last:])
	return ok
}

// plain reports whether the reader has no expression of the user, so that a step may follow the value.
func (r *Reader) plain() bool { return len(r.counts) > 0 }
