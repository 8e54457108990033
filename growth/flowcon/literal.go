package flowcon

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// literal is Algorithm 1, line by line.
func literal(c Config, in Input) Decision {
	jobs := make([]Job, len(in.Jobs))
	for i, j := range in.Jobs {
		j.Category = nextCategory(c.Alpha, j)
		jobs[i] = j
	}
	if allConverged(jobs) { // lines 14–17
		return Decision{Grants: equal(jobs, "every job is in CL: limit 1"), Interval: double(max(in.Interval, c.Interval))}
	}
	sum, n := 0.0, float64(len(jobs))
	for _, j := range jobs {
		sum += float64(j.Raw)
	}
	grants := make([]Grant, len(jobs))
	for i, j := range jobs { // lines 19–26
		part := 0.0
		if sum > 0 {
			part = float64(j.Raw) / sum
		}
		g := Grant{ID: j.ID, Category: j.Category}
		switch {
		case j.unrated():
			g.Weight, g.Reason = 1, "no G yet: limit 1"
		case j.Category == growth.Converged:
			g.Weight, g.Reason = max(part, 1/(c.Beta*n)), fmt.Sprintf("CL: G %.4g of %.4g, at least 1/(β·n)", j.Raw, sum)
		case j.Category == growth.Watching:
			g.Weight, g.Reason = cmp.Or(j.Weight, 1), "WL: unchanged"
		default:
			g.Weight, g.Reason = part, fmt.Sprintf("NL: G %.4g of %.4g", j.Raw, sum)
		}
		grants[i] = g
	}
	normalizeLimits(grants)
	// Algorithm 2 restores the interval on arrivals and departures; a return to NL, as printed, does not. The caller
	// passes the base after those.
	return Decision{Grants: grants, Interval: max(in.Interval, c.Interval)}
}

// listed is lines 3–13: one low interval a list down, one high interval to the top.
func nextCategory(alpha float64, j Job) growth.Category {
	switch {
	case j.unrated() || float64(j.Raw) >= alpha:
		return growth.Progressing
	case j.Category == growth.Progressing:
		return growth.Watching
	}
	return growth.Converged
}

// relative turns limits into shares of the pool.
func normalizeLimits(grants []Grant) {
	sum := 0.0
	for _, g := range grants {
		sum += g.Weight
	}
	for i := range grants {
		grants[i].Share = 1 / growth.Share(len(grants))
		if sum > 0 {
			grants[i].Share = growth.Share(grants[i].Weight / sum)
		}
	}
}

// doubled has no cap but the largest duration there is.
func double(d time.Duration) time.Duration {
	if d > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return 2 * d
}
