package flowcon

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// literal implements Algorithm 1 line by line. Line numbers are those of the thesis.
func literal(c Config, in Input) Decision {
	jobs := make([]Job, len(in.Jobs))
	for i, j := range in.Jobs {
		j.Category = nextCategory(c.Alpha, j)
		jobs[i] = j
	}
	if allConverged(jobs) { // lines 14–17
		return Decision{
			Grants:   equal(jobs, "all jobs are in CL: limit 1"),
			Interval: double(max(in.Interval, c.Interval)),
		}
	}
	sum := 0.0
	n := float64(len(jobs))
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
			g.Weight = 1
			g.Reason = "no G yet: limit 1"
		case j.Category == growth.Converged:
			g.Weight = max(part, 1/(c.Beta*n))
			g.Reason = fmt.Sprintf("CL: G %.4g of %.4g, at least 1/(β·n)", j.Raw, sum)
		case j.Category == growth.Watching:
			g.Weight = cmp.Or(j.Weight, 1)
			g.Reason = "WL: unchanged"
		default:
			g.Weight = part
			g.Reason = fmt.Sprintf("NL: G %.4g of %.4g", j.Raw, sum)
		}
		grants[i] = g
	}
	normalizeLimits(grants)
	// Algorithm 2 resets the interval on arrivals and departures: the caller then passes the base interval. As printed,
	// a return to NL does not reset it.
	return Decision{Grants: grants, Interval: max(in.Interval, c.Interval)}
}

// nextCategory implements lines 3–13: a low interval demotes by one list, a high one promotes to the first.
func nextCategory(alpha float64, j Job) growth.Category {
	switch {
	case j.unrated() || float64(j.Raw) >= alpha:
		return growth.Progressing
	case j.Category == growth.Progressing:
		return growth.Watching
	}
	return growth.Converged
}

// normalizeLimits turns limits into shares of the pool.
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

// double doubles a duration. Only the range of time.Duration bounds it.
func double(d time.Duration) time.Duration {
	if d > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return 2 * d
}
