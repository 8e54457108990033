package flowcon

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// corrected is the corrected reading.
func corrected(c Config, now time.Time, in Input) Decision {
	lost := slices.IndexFunc(in.Jobs, func(j Job) bool { return j.FloorOnly }) >= 0
	if allConverged(in.Jobs) && !lost {
		interval := c.Interval
		if !in.Interrupted {
			interval = min(2*max(in.Interval, c.Interval), MaxBackoff*c.Interval)
		}
		return Decision{Grants: equal(in.Jobs, "all jobs have converged: equal shares"), Interval: interval}
	}
	floor := 1 / (c.Beta * float64(len(in.Jobs)))
	grants := weights(in.Jobs, floor)
	normalize(in.Jobs, grants, floor)
	if reason, keep := keepShares(in, grants, now); keep {
		for i, j := range in.Jobs {
			grants[i].Weight = j.Weight
			grants[i].Share = j.Share
			grants[i].Reason = reason
		}
	}
	return Decision{Grants: grants, Interval: c.Interval}
}

// weights returns the weight of each job.
func weights(jobs []Job, floor float64) []Grant {
	sum := 0.0
	for _, j := range jobs {
		sum += float64(j.Growth)
	}
	grants := make([]Grant, len(jobs))
	for i, j := range jobs {
		g := Grant{ID: j.ID, Category: j.Category}
		switch {
		case j.FloorOnly:
			g.Weight = floor
			g.Reason = fmt.Sprintf("it has nothing to gain: the floor of %.3f", floor)
		case j.unrated() && j.Silent:
			g.Weight = 1 / float64(len(jobs))
			g.Reason = "no report: its fair share"
		case j.unrated():
			g.Weight = cmp.Or(j.Weight, 1)
			g.Reason = fmt.Sprintf("%d of 2 samples: growth is not known yet", j.Samples)
		case j.Category == growth.Watching:
			g.Weight = cmp.Or(j.Weight, 1)
			g.Reason = "watching: keeps its weight"
		case sum > 0 && float64(j.Growth)/sum > floor:
			g.Weight = float64(j.Growth) / sum
			g.Reason = fmt.Sprintf("growth %.3f of %.3f in total", j.Growth, sum)
		default:
			g.Weight = floor
			g.Reason = fmt.Sprintf("growth %.3f of %.3f in total: the floor of %.3f", j.Growth, sum, floor)
		}
		grants[i] = g
	}
	return grants
}

// normalize turns weights into shares that add up to 1, none below the floor. If no job has more than the floor, the rest
// goes to the jobs that have something to gain.
func normalize(jobs []Job, grants []Grant, floor float64) {
	above, valid := 0.0, 0
	for i, g := range grants {
		above += max(g.Weight-floor, 0)
		if !jobs[i].FloorOnly {
			valid++
		}
	}
	rest := 1 - float64(len(grants))*floor
	for i, g := range grants {
		part := 0.0
		switch {
		case above > 0:
			part = max(g.Weight-floor, 0) / above
		case valid == 0:
			part = 1 / float64(len(grants))
		case !jobs[i].FloorOnly:
			part = 1 / float64(valid)
		}
		grants[i].Share = growth.Share(floor + part*rest)
	}
}

// keepShares reports whether the present shares stay, and why.
func keepShares(in Input, grants []Grant, now time.Time) (string, bool) {
	if in.Interrupted {
		return "", false
	}
	largest := growth.Share(0)
	dwelling := false
	for i, j := range in.Jobs {
		if j.Share == 0 {
			return "", false
		}
		largest = max(largest, growth.Share(math.Abs(float64(grants[i].Share-j.Share))))
		since := now.Sub(j.Changed)
		dwelling = dwelling || (since >= 0 && since < Dwell)
	}
	switch {
	case largest < Deadband:
		return fmt.Sprintf("no share would change by %s: shares stay", Deadband), true
	case dwelling:
		return fmt.Sprintf("a share changed less than %s ago: shares stay", Dwell), true
	}
	return "", false
}
