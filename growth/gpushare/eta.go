package gpushare

import (
	"strings"
	"time"
)

// UnknownETA is the value of ETAAnnotation of a job whose end was known and is not any more.
const UnknownETA = "unknown"

// ETA is when a job is expected to end. 80 % of such jobs end between Low and High.
type ETA struct {
	Likely time.Time `json:"likely"`
	Low    time.Time `json:"low"`
	High   time.Time `json:"high"`
}

// Round returns the times in UTC and in whole seconds.
func (e ETA) Round() ETA {
	round := func(t time.Time) time.Time { return t.UTC().Round(time.Second) }
	return ETA{Likely: round(e.Likely), Low: round(e.Low), High: round(e.High)}
}

// String formats an ETA for ETAAnnotation: the likely time, and the interval as in ISO 8601.
func (e ETA) String() string {
	format := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	return format(e.Likely) + " " + format(e.Low) + "/" + format(e.High)
}

// ParseETA parses a value of ETAAnnotation. ok is false for UnknownETA and for an invalid value.
func ParseETA(text string) (e ETA, ok bool) {
	likely, interval, _ := strings.Cut(text, " ")
	low, high, _ := strings.Cut(interval, "/")
	for _, part := range []struct {
		text string
		into *time.Time
	}{{likely, &e.Likely}, {low, &e.Low}, {high, &e.High}} {
		t, err := time.Parse(time.RFC3339, part.text)
		if err != nil {
			return ETA{}, false
		}
		*part.into = t
	}
	return e, !e.Low.After(e.Likely) && !e.High.Before(e.Likely)
}
