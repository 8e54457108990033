package flowcon

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

func corrected(c Config, now time.Time, in Input) Decision {
	if allConverged(in.Jobs) {
		interval := c.Interval
		if !in.Interrupted {
			interval = min(2*max(in.Interval, c.Interval), MaxBackoff*c.Interval)
		}
		return Decision{Grants: equal(in.Jobs, "all jobs have converged: equal shares"), Interval: interval}
	}
	floor := 1 / (c.Beta * float64(len(in.Jobs)))
	grants := weights(in.Jobs, floor)
	normalize(grants, floor)
	if why, hold := keepShares(in, grants, now); hold {
		for i, j := range in.Jobs {
			grants[i].Weight, grants[i].Share, grants[i].Reason = j.Weight, j.Share, why
		}
	}
	return Decision{Grants: grants, Interval: c.Interval}
}

func weights(jobs []Job, floor float64) []Grant {
	sum := 0.0
	for _, j := range jobs {
		sum += float64(j.Growth)
	}
	grants := make([]Grant, len(jobs))
	for i, j := range jobs {
		g := Grant{ID: j.ID, Category: j.Category}
		switch {
		case j.unrated() && j.Silent:
			g.Weight, g.Reason = 1/float64(len(jobs)), "reports nothing: its fair part"
		case j.unrated():
			g.Weight, g.Reason = cmp.Or(j.Weight, 1), fmt.Sprintf("%d of 2 samples: growth is not known yet", j.Samples)
		case j.Category == growth.Watching:
			g.Weight, g.Reason = cmp.Or(j.Weight, 1), "watching: keeps its weight"
		case sum > 0 && float64(j.Growth)/sum > floor:
			g.Weight, g.Reason = float64(j.Growth)/sum, fmt.Sprintf("growth %.3f of %.3f in all", j.Growth, sum)
		default:
			g.Weight, g.Reason = floor, fmt.Sprintf("growth %.3f of %.3f in all: the floor, %.3f", j.Growth, sum, floor)
		}
		grants[i] = g
	}
	return grants
}

// share makes weights add up to 1 and leaves nobody below the floor.
func normalize(grants []Grant, floor float64) {
	above := 0.0
	for _, g := range grants {
		above += max(g.Weight-floor, 0)
	}
	spare := 1 - float64(len(grants))*floor
	for i, g := range grants {
		part := 1 / float64(len(grants))
		if above > 0 {
			part = max(g.Weight-floor, 0) / above
		}
		grants[i].Share = growth.Share(floor + part*spare)
	}
}

// settled tells that the old shares are good enough, and why.
func keepShares(in Input, grants []Grant, now time.Time) (string, bool) {
	if in.Interrupted {
		return "", false
	}
	moved, held := growth.Share(0), false
	for i, j := range in.Jobs {
		if j.Share == 0 {
			return "", false
		}
		moved = max(moved, growth.Share(math.Abs(float64(grants[i].Share-j.Share))))
		since := now.Sub(j.Changed)
		held = held || (since >= 0 && since < Dwell)
	}
	switch {
	case moved < Deadband:
		return fmt.Sprintf("no share would move by %s: the old ones stay", Deadband), true
	case held:
		return fmt.Sprintf("a share changed less than %s ago: the old ones stay", Dwell), true
	}
	return "", false
}
