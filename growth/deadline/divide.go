package deadline

import (
	"fmt"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// sizesEach is the number of sizes in each direction. A share is multiplied by up to mostGrowth, and by leastCut to mostCut.
	sizesEach                     = 16
	mostGrowth, leastCut, mostCut = 1.36, 0.95, 0.5
	// leastPart is the part of an equal share that a job keeps. Qore-DL leaves as much of the peak, which is its first share.
	leastPart = 0.475
)

// Sharer is a job that shares a resource with others by weight.
type Sharer struct {
	Name string
	// Share is its present part of the resource; 0 for a job that has just arrived, which gets an equal part.
	Share growth.Share
	// Limit is the largest part that it can use; 0 for all of it.
	Limit growth.Share
	// Work is the time that the job would need on the whole resource; Known is set if there is an estimate.
	Work  Interval
	Known bool
	// ToDeadline is the time to the deadline; +Inf for a job without one.
	ToDeadline growth.Seconds
}

// Division is how jobs share a resource by the four cases.
type Division struct {
	// Adjustment has the changes that were made.
	Adjustment
	// Shares are in the order of the jobs, and add up to 1.
	Shares []growth.Share
}

// Divide applies one adjustment to the shares of jobs. load is the used part of the resource. As in the paper, all late jobs grow where
// there is room, and else at most one job grows and one gives way. What the changes leave is divided among the other jobs in the
// proportion that they have: a share is a weight, and what a job does not use goes to others.
func Divide(b Bands, load growth.Share, sharers []Sharer) Division {
	if len(sharers) == 0 {
		return Division{}
	}
	least := leastPart / growth.Share(len(sharers))
	present := presentShares(sharers)
	jobs := make([]Job, len(sharers))
	for i, s := range sharers {
		jobs[i] = s.job(present[i], least, 1-least*growth.Share(len(sharers)-1))
	}
	d := Division{Adjustment: Adjust(b, load, jobs)}
	if d.Case != LateWithRoom {
		d.Grow, d.Shrink = d.Grow[:min(1, len(d.Grow))], d.Shrink[:min(1, len(d.Shrink))]
	}
	to := map[string]growth.Share{}
	for _, c := range slices.Concat(d.Grow, d.Shrink) {
		to[c.Job.Name] = growth.Share(c.To.Resource)
	}
	d.Shares = rearranged(sharers, present, to, least)
	return d
}

// presentShares returns the present shares, with an equal part for new jobs. They add up to 1.
func presentShares(sharers []Sharer) []growth.Share {
	shares := make([]growth.Share, len(sharers))
	for i, s := range sharers {
		shares[i] = s.Share
		if !(s.Share > 0 && s.Share <= 1) {
			shares[i] = 1 / growth.Share(len(sharers))
		}
	}
	return normalized(shares)
}

// rearranged returns the shares after some have changed. The others share the rest.
func rearranged(sharers []Sharer, present []growth.Share, to map[string]growth.Share, least growth.Share) []growth.Share {
	changed, others := growth.Share(0), growth.Share(0)
	for i, s := range sharers {
		if share, changes := to[s.Name]; changes {
			changed += share
		} else {
			others += present[i]
		}
	}
	rest := max(1-changed, least*growth.Share(len(sharers)-len(to)))
	shares := slices.Clone(present)
	for i, s := range sharers {
		if share, changes := to[s.Name]; changes {
			shares[i] = share
		} else {
			shares[i] = max(present[i]*rest/others, least)
		}
	}
	return normalized(shares)
}

func normalized(shares []growth.Share) []growth.Share {
	sum := growth.Share(0)
	for _, s := range shares {
		sum += s
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// job returns the job with its options between two shares. The names of the options are in the order of their sizes.
func (s Sharer) job(share, least, most growth.Share) Job {
	j := Job{Name: s.Name, ToDeadline: s.ToDeadline, Now: s.option("now", share)}
	for size := range sizesEach {
		k := growth.Share(size)
		more := share * (1 + (mostGrowth-1)*(k+1)/sizesEach)
		if more <= most {
			j.Options = append(j.Options, s.option(fmt.Sprintf("more %02d", size), more))
		}
		less := share * (leastCut - (leastCut-mostCut)*k/(sizesEach-1))
		if less >= least {
			j.Options = append(j.Options, s.option(fmt.Sprintf("less %02d", size), less))
		}
	}
	return j
}

// option returns how the job would run with a share. A job of unknown size has no time, and so neither grows nor gives way.
func (s Sharer) option(name string, share growth.Share) Option {
	o := Option{Name: name, Resource: float64(share), Time: Certain(growth.Seconds(math.NaN()))}
	used := growth.Seconds(share)
	if s.Limit > 0 {
		used = min(used, growth.Seconds(s.Limit))
	}
	if s.Known {
		o.Time = Interval{Low: s.Work.Low / used, Likely: s.Work.Likely / used, High: s.Work.High / used}
	}
	return o
}

// String says what the case means.
func (c Case) String() string {
	switch c {
	case LateWithRoom:
		return "case 1: jobs are late, and there is room"
	case LateWithoutRoom:
		return "case 2: jobs are late, and there is no room"
	case Idle:
		return "case 3: no job is late, and the load is low"
	case Full:
		return "case 4: no job is late, and the load is high"
	}
	return "no case: no job is late, and the load is neither low nor high"
}
