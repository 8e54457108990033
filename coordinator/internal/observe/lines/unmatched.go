package lines

import (
	"bytes"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// When records without a report are a problem: many of them after the start of a program, or any after a while.
const (
	manyUnmatched  = 50
	startUnmatched = 30 * time.Second
	longUnmatched  = 2 * time.Minute
)

// maxExample bounds an example, in characters.
const maxExample = 160

// unmatched collects the records before the first report.
type unmatched struct {
	records int
	first   time.Time
	example string
	named   bool // the example has the metric's name
	done    bool
}

// add adds a record without a report. The example is the newest record, or the newest one with the metric's name.
func (u *unmatched) add(text []byte, metric string, now time.Time) {
	if u.done || len(bytes.TrimSpace(text)) == 0 {
		return
	}
	if u.records == 0 {
		u.first = now
	}
	u.records++
	named := bytes.Contains(bytes.ToLower(text), []byte(strings.ToLower(metric)))
	if named || !u.named {
		u.example, u.named = printable(text), named
	}
}

// due returns the records and an example, once when they are a problem.
func (u *unmatched) due(now time.Time) (records int, example string, due bool) {
	age := now.Sub(u.first)
	if u.done || u.records == 0 || age < longUnmatched && (u.records < manyUnmatched || age < startUnmatched) {
		return 0, "", false
	}
	u.done = true
	return u.records, u.example, true
}

// printable returns the beginning of a text in one line.
func printable(text []byte) string {
	var out strings.Builder
	characters := 0
	for _, r := range string(bytes.TrimSpace(text[:min(len(text), 8*maxExample)])) {
		if characters == maxExample {
			out.WriteString("…")
			break
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			r = ' '
		}
		out.WriteRune(r)
		characters++
	}
	return out.String()
}
