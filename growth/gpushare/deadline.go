package gpushare

import (
	"fmt"
	"regexp"
	"time"
)

// Deadline is when the user needs a job's result. The zero value is no deadline.
type Deadline struct {
	// After is the time after the pod's creation; 0 if At is set.
	After time.Duration
	At    time.Time
}

// Declared reports whether the user has set a deadline.
func (d Deadline) Declared() bool { return d != Deadline{} }

// Time returns the deadline of a pod that was created at a given time. It is zero if there is none, or if the time of the creation
// is needed and unknown.
func (d Deadline) Time(created time.Time) time.Time {
	if d.After > 0 && !created.IsZero() {
		return created.Add(d.After)
	}
	return d.At
}

// maxDeadline bounds the time after the pod's creation.
const maxDeadline = 365 * 24 * time.Hour

var (
	// durationPattern bounds each number, so that their sum is a valid time.Duration.
	durationPattern = regexp.MustCompile(
		`^([0-9]{1,6}([.][0-9]{1,3})?h)?([0-9]{1,6}([.][0-9]{1,3})?m)?([0-9]{1,6}([.][0-9]{1,3})?s)?$`)
	timePattern = regexp.MustCompile(
		`^2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$`)
)

func parseDeadline(value string, s *Spec) (err error) {
	switch {
	case value == "":
		return nil
	case timePattern.MatchString(value):
		if s.Deadline.At, err = time.Parse(time.RFC3339, value); err != nil {
			return fmt.Errorf("is not a time that exists: %w", err)
		}
		s.Deadline.At = s.Deadline.At.UTC()
		return nil
	case durationPattern.MatchString(value):
		if s.Deadline.After, err = time.ParseDuration(value); err != nil {
			return fmt.Errorf("is not a duration: %w", err)
		}
		if s.Deadline.After <= 0 || s.Deadline.After > maxDeadline {
			return fmt.Errorf("is not between 0 and 8760h, a year after the pod's creation")
		}
		return nil
	}
	return fmt.Errorf("is neither a duration after the pod's creation, as in \"6h\" or \"1h30m\", nor a time with its zone, " +
		"as in \"2026-05-01T18:00:00Z\"")
}
