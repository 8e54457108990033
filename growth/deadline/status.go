package deadline

import "github.com/trellis-gpu/trellis/growth"

// Status says whether a job is expected to end before its deadline.
type Status string

// All statuses. Met and Missed are final, as long as the deadline is the same.
const (
	Unknown    Status = "unknown"
	OnTime     Status = "in time"
	AtRisk     Status = "at risk"
	Infeasible Status = "infeasible"
	Met        Status = "met"
	Missed     Status = "missed"
)

// Next returns the status of a job with a timeout degree. alone is the degree that the job would have with all of the resource
// that it can use. A job at risk is in time again once it is early, so that an estimate near the deadline does not change the status
// each time.
func (s Status) Next(d, alone Degree) Status {
	switch {
	case s == Met || s == Missed:
		return s
	case alone.Low > 0:
		return Infeasible
	case d.Late(), s == AtRisk && !d.Early():
		return AtRisk
	}
	return OnTime
}

// least is the smallest change of a timeout degree that is worth a message.
const least growth.Seconds = 60

// Moved reports whether a timeout degree differs noticeably from the one that the user knows: by a quarter of it, and by a
// minute.
func (d Degree) Moved(known Degree) bool {
	moved := d.Likely - known.Likely
	return max(moved, -moved) >= max(least, known.Likely/4, -known.Likely/4)
}
