package lines

import (
	"regexp"

	"github.com/trellis-gpu/trellis/growth/wire"
)

// Reader parses the reports of one container. It must not be used concurrently.
type Reader struct {
	metric string
	values []pattern // the first one that matches has the value
	counts []pattern // find the step, the total and the epoch anywhere in the record
	// onlyEvaluations is set if the user asks for the metric of an evaluation.
	onlyEvaluations bool

	ranks     ranks
	tallies   map[int]*tally
	stepped   bool // a record had its step
	trainings int  // reports that are not of an evaluation
}

// minTrainings is the number of reports of training after which evaluations are not reported.
const minTrainings = 3

// NewReader returns a reader of metric that uses the user's expression, which has at least one group.
func NewReader(metric string, expression *regexp.Regexp) *Reader {
	return &Reader{
		metric:          metric,
		values:          []pattern{userPattern(expression)},
		onlyEvaluations: evaluated.MatchString(metric) || evaluated.MatchString(expression.String()),
		tallies:         map[int]*tally{},
	}
}

// Restart forgets the reports so far: the container has restarted.
func (r *Reader) Restart() {
	r.ranks = ranks{}
	r.tallies = map[int]*tally{}
	r.stepped, r.trainings = false, 0
}

// Read returns the report in a record, whether its step is a count of reports, and whether there is a report. The metric
// may be NaN or infinite.
func (r *Reader) Read(text []byte) (report wire.Progress, counted, ok bool) {
	f, ok := r.match(text)
	if !ok || r.skips(f) {
		return wire.Progress{}, false, false
	}
	report, counted = r.report(f, false)
	return report, counted, true
}

// match finds the report in a record, if need be without the quotes and commas of its numbers.
func (r *Reader) match(text []byte) (f found, ok bool) {
	if f, ok = r.matchText(text); ok {
		return f, true
	}
	bare := withoutQuotesAndCommas(text)
	if len(bare) == len(text) {
		return f, false
	}
	return r.matchText(bare)
}

// matchText finds the report in a text. The expression is tried with NaN and infinity replaced first, because most
// expressions match only digits.
func (r *Reader) matchText(text []byte) (f found, ok bool) {
	if words := nonFinite(text); len(words) > 0 {
		for _, numeral := range numerals {
			if f, ok = r.find(replace(text, words, numeral)); ok {
				return f, true
			}
		}
	}
	return r.find(replaced{text: text})
}

func (r *Reader) find(text replaced) (f found, ok bool) {
	for _, p := range r.values {
		if f, ok = p.find(text); ok {
			break
		}
	}
	if !ok {
		return f, false
	}
	for _, p := range r.counts {
		if ok := p.findCounts(text.text, &f); !ok {
			return f, false
		}
	}
	if f.rank < 0 {
		f.rank = r.ranks.find(text.text)
	}
	return f, true
}

// report returns the report of a match. again means that it replaces the previous report of its rank.
func (r *Reader) report(f found, again bool) (report wire.Progress, counted bool) {
	rank := max(0, f.rank)
	t := r.tallies[rank]
	if t == nil {
		t = &tally{}
		r.tallies[rank] = t
	}
	if !again {
		t.reports++
	}
	if !f.evaluation {
		r.trainings++
	}
	report = wire.Progress{Metrics: wire.Metrics{{Name: r.metric, Value: f.value}}}
	if f.rank >= 0 {
		report.Rank = &rank
	}
	if f.step < 0 {
		report.Step = t.reports
		report.TotalSteps = max(0, f.total)
		return report, true
	}
	r.stepped = true
	report.Step = f.step
	report.Epoch = t.epoch(f)
	report.TotalSteps = t.totalSteps(f.total)
	return report, false
}

// skips reports whether a match is an evaluation of a job whose training is observed.
func (r *Reader) skips(f found) bool {
	return f.evaluation && !r.onlyEvaluations && r.trainings >= minTrainings
}

// expectsStep reports whether complete records have a step.
func (r *Reader) expectsStep() bool { return r.stepped || r.values[0].step >= 0 }
