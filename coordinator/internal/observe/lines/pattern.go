package lines

import (
	"bytes"
	"math"
	"regexp"
	"slices"
)

// pattern is a regular expression with the indices of its groups; −1 if it has no such group.
type pattern struct {
	*regexp.Regexp
	value, step, total, epoch, rank int
}

// found is a report in a record. A number that is not in the record is −1.
type found struct {
	value              float64
	step, total, epoch int64
	rank               int
	// at is the position of the value. closed is set if the text after the numbers shows that they are complete.
	at     int
	closed bool
	// evaluation is set if the value is one of a validation or test, and inWord if the match begins inside a word.
	evaluation, inWord bool
}

// none is the report with only a value.
func none(value float64) found { return found{value: value, step: -1, total: -1, epoch: -1, rank: -1} }

// userPattern returns the pattern of the user's expression, which has at least one group. The value is in the first
// group that has no other meaning.
func userPattern(expression *regexp.Regexp) pattern {
	p := pattern{
		Regexp: expression,
		value:  1,
		step:   expression.SubexpIndex("step"),
		total:  expression.SubexpIndex("total"),
		epoch:  expression.SubexpIndex("epoch"),
		rank:   expression.SubexpIndex("rank"),
	}
	others := []*int{&p.step, &p.total, &p.epoch, &p.rank}
	isOther := func(group *int) bool { return *group == p.value }
	for p.value < expression.NumSubexp() && slices.ContainsFunc(others, isOther) {
		p.value++
	}
	if i := slices.IndexFunc(others, isOther); i >= 0 { // it is the only group
		*others[i] = -1
	}
	return p
}

// find returns the report of the last match in a record. A match that begins inside a word, as "loss" in val_loss, and
// an evaluation count only if there is no other.
func (p pattern) find(r replaced) (best found, ok bool) {
	for _, at := range slices.Backward(matches(p.Regexp, r.text)) {
		f, valid := p.read(r, at)
		if !valid || ok && f.minor() >= best.minor() {
			continue
		}
		best, ok = f, true
		if f.minor() == 0 {
			break
		}
	}
	return best, ok
}

// minor is 0 for a match that counts before all others.
func (f found) minor() int {
	switch {
	case f.evaluation:
		return 2
	case f.inWord:
		return 1
	}
	return 0
}

// read parses the groups of a match.
func (p pattern) read(r replaced, at []int) (f found, ok bool) {
	start, end := at[2*p.value], at[2*p.value+1]
	if start < 0 {
		return f, false
	}
	value, last, ok := r.value(start)
	if !ok {
		value, last, ok = parseValue(r.text, start, end)
	}
	if !ok {
		return f, false
	}
	f = none(value)
	f.at = start
	f.evaluation = evaluation(r.text[:start])
	f.inWord = inWord(r.text, at[0])
	last, ok = p.readCounts(r.text, at, &f, last)
	f.closed = closed(r.text[last:])
	return f, ok
}

// closed reports whether the text after a number does not continue it.
func closed(after []byte) bool {
	return len(bytes.TrimLeft(after, "0123456789,.+-eE")) > 0
}

// readCounts parses the groups other than the value. It returns the end of the last number, and false if one is invalid.
func (p pattern) readCounts(text []byte, at []int, f *found, last int) (end int, ok bool) {
	rank := int64(-1)
	for _, group := range []struct {
		index int
		into  *int64
	}{{p.step, &f.step}, {p.total, &f.total}, {p.epoch, &f.epoch}, {p.rank, &rank}} {
		if group.index < 0 || at[2*group.index] < 0 || at[2*group.index] == at[2*group.index+1] {
			continue
		}
		n, end, ok := parseCount(text, at[2*group.index], at[2*group.index+1])
		if !ok {
			return last, false
		}
		*group.into = n
		last = max(last, end)
	}
	if rank >= 0 && rank < maxRanks {
		f.rank = int(rank)
	}
	return last, true
}

// maxMatches bounds the matches that are searched in a whole record.
const maxMatches = 32

// matches returns the last matches of expression in a record, the newest last. The search for all matches of some
// expressions takes quadratic time, so only the end of a record with many matches is searched.
func matches(expression *regexp.Regexp, text []byte) (found [][]int) {
	for _, window := range []int{MaxText, 2 << 10, 128} {
		from := max(0, len(text)-window)
		newer := expression.FindAllSubmatchIndex(text[from:], maxMatches)
		if window == 128 {
			newer = expression.FindAllSubmatchIndex(text[from:], -1)
		}
		if len(newer) == 0 {
			return found
		}
		for _, match := range newer {
			for i := range match {
				if match[i] >= 0 {
					match[i] += from
				}
			}
		}
		found = newer
		if len(found) < maxMatches {
			return found
		}
	}
	return found
}

// equals reports whether two matches are the same report. Two NaNs are equal.
func (f found) equals(other found) bool {
	same := f.value == other.value || math.IsNaN(f.value) && math.IsNaN(other.value)
	return same && f.step == other.step && f.total == other.total && f.epoch == other.epoch && f.rank == other.rank
}
