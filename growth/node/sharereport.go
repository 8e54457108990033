package node

import (
	"fmt"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// shareEventPeriod is the minimum time between two events about the share of one job. The decision log and the log
	// have each change.
	shareEventPeriod = 5 * time.Minute
	// A request has changed noticeably if the change is at least noticeablePart of the pool, and if the larger request
	// is at least noticeableRatio times the smaller one.
	noticeablePart  growth.Share = 0.02
	noticeableRatio float64      = 1.2
)

// shareReport collects the changes of a job's CPU request since the last event about them.
type shareReport struct {
	since   time.Time // time of the last event; zero if there was none
	from    growth.MilliCPU
	last    Resize
	weight  string // what was read back after the last resize
	changes int
}

// resume starts a report for a job whose first change an earlier coordinator has announced.
func (s *shareReport) resume(request growth.MilliCPU, now time.Time) {
	s.since, s.from = now, request
}

// reportShare records an event about a job's first resize at once. Later ones are summarised by summariseShare.
func (n *Node) reportShare(j *job, r Resize, weight string) {
	j.lifetime.Resizes++
	if n.returnsCPU(j) {
		j.shareReport = shareReport{since: n.now, from: r.To}
		n.event(j, 0, false, "CPUShareChanged",
			fmt.Sprintf("CPU request %s → %s, as when the pod was created, because %s: %s", r.From, r.To, j.fixed(), weight))
		return
	}
	if j.shareReport.since.IsZero() {
		j.shareReport = shareReport{since: n.now, from: r.To}
		n.event(j, 0, false, "CPUShareChanged",
			fmt.Sprintf("CPU request %s → %s, %s of the node's pool: %s", r.From, r.To, r.Share, weight))
		return
	}
	j.shareReport.changes++
	j.shareReport.last, j.shareReport.weight = r, weight
}

// summariseShare records an event about the resizes of the last period, if the request has changed noticeably.
func (n *Node) summariseShare(j *job) {
	s := j.shareReport
	now := s.last
	if s.changes == 0 || n.now.Sub(s.since) < shareEventPeriod || !noticeable(s.from, now.To, n.pool) {
		return
	}
	message := fmt.Sprintf("CPU request %s → %s in %d changes since %s UTC, now %s of the node's pool: %s",
		s.from, now.To, s.changes, s.since.UTC().Format("15:04"), now.Share, s.weight)
	if s.changes == 1 {
		message = fmt.Sprintf("CPU request %s → %s, %s of the node's pool: %s", s.from, now.To, now.Share, s.weight)
	}
	if last := len(j.decisions) - 1; last >= 0 {
		message += ". The last decision: " + j.decisions[last].Reason
	}
	j.shareReport = shareReport{since: n.now, from: now.To}
	n.event(j, 0, false, "CPUShareChanged", message)
}

// noticeable reports whether a user would care about a change of a CPU request.
func noticeable(from, to, pool growth.MilliCPU) bool {
	change := math.Abs(float64(to - from))
	return change >= float64(noticeablePart)*float64(pool) && float64(max(from, to)) >= noticeableRatio*float64(min(from, to))
}
