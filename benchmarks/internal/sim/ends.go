package sim

import (
	"context"
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// Ends compares the ends that a node estimates with the true ones. Figures are means over jobs, in per cent.
type Ends struct {
	History History `json:"history"`
	// Covered is the part of the estimates whose 80 % interval has the end.
	Covered Mean `json:"covered"`
	// Wrong is the error of the likely end, and Width the width of the interval, relative to the time that is left.
	Wrong Mean `json:"wrong"`
	Width Mean `json:"width"`
}

// EndsStudy runs the jobs of HistoryMachines with true histories for seeds 1 to seeds.
func EndsStudy(ctx context.Context, seeds int) ([]Ends, error) {
	var all []Ends
	for _, m := range HistoryMachines()[:3] {
		bySeed := make([]judged, seeds)
		forSeeds(ctx, seeds, func(i int) { bySeed[i] = judgeEnds(m.Draw(uint64(i+1), 0), m.Cores) })
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		percent := func(of func(judged) float64) Mean {
			values := make([]float64, seeds)
			for i, f := range bySeed {
				values[i] = 100 * of(f)
			}
			return meanOf(values)
		}
		all = append(all, Ends{
			History: m.History,
			Covered: percent(func(f judged) float64 { return f.covered }),
			Wrong:   percent(func(f judged) float64 { return f.wrong }),
			Width:   percent(func(f judged) float64 { return f.width }),
		})
	}
	return all, nil
}

// estimate is what a node says at a time about the end of a job, in seconds.
type estimate struct{ at, low, likely, high float64 }

// endsNode is the default policy on a node that estimates ends. It records each new estimate, by job.
type endsNode struct {
	alertNode
	last map[int]gpushare.ETA
	said map[int][]estimate
}

func newEndsNode(cores float64) *endsNode {
	config := node.Config{Policy: policy.Default, Objective: fairfinish.Balanced, Ends: true}
	return &endsNode{
		alertNode: alertNode{newNode(config, cores, 0)},
		last:      map[int]gpushare.ETA{},
		said:      map[int][]estimate{},
	}
}

// Decide also records what the node now says about the ends.
func (n *endsNode) Decide(now float64, running, ended []*Running) (shares []float64, next float64) {
	shares, next = n.alertNode.Decide(now, running, ended)
	for _, r := range running {
		sample, _, err := n.node.Sample(id(r))
		if err != nil || sample.ETA == nil || sample.ETA.ETA == n.last[r.Index] {
			continue
		}
		eta := sample.ETA.ETA
		n.last[r.Index] = eta
		n.said[r.Index] = append(n.said[r.Index], estimate{
			at:     now,
			low:    eta.Low.Sub(date(0)).Seconds(),
			likely: eta.Likely.Sub(date(0)).Seconds(),
			high:   eta.High.Sub(date(0)).Seconds(),
		})
	}
	return shares, next
}

// judged is the mean of the figures of Ends over some estimates or jobs, as fractions.
type judged struct{ covered, wrong, width float64 }

// judgeEnds runs jobs and judges what the node says about their ends after the last arrival: an estimate is valid if no further job arrives.
func judgeEnds(jobs []Job, cores float64) (mean judged) {
	n := newEndsNode(cores)
	outcomes, _ := Run(jobs, cores, n)
	count := 0.0
	for i, j := range jobs {
		f, some := judge(n.said[i], jobs[len(jobs)-1].Arrival, j.Arrival+outcomes[i].End)
		if some {
			count++
			mean.covered, mean.wrong, mean.width = mean.covered+f.covered, mean.wrong+f.wrong, mean.width+f.width
		}
	}
	count = max(count, 1)
	return judged{mean.covered / count, mean.wrong / count, mean.width / count}
}

// rounding is the error of a time that is published in whole seconds.
const rounding = 1

// judge returns the means over the estimates since a time about a job that ends at another time; some is false without any.
func judge(said []estimate, since, end float64) (mean judged, some bool) {
	count := 0.0
	for _, e := range said {
		if e.at < since || e.at >= end {
			continue
		}
		count++
		if e.low-rounding <= end && end <= e.high+rounding {
			mean.covered++
		}
		mean.wrong += math.Abs(e.likely-end) / (end - e.at)
		mean.width += (e.high - e.low) / (end - e.at)
	}
	if count == 0 {
		return judged{}, false
	}
	return judged{mean.covered / count, mean.wrong / count, mean.width / count}, true
}

// The bounds of how many ends are in an 80 % interval, in per cent.
const minCovered, maxCovered = 75, 85

// EndsGoals returns the figures of a study. The coverage has a target.
func EndsGoals(all []Ends) (goals []results.Goal) {
	for _, e := range all {
		goal := func(figure string, m Mean) results.Goal {
			name := fmt.Sprintf("%s: %s", e.History, figure)
			return results.Goal{Name: name, Unit: "%", Value: m.Value, Low: m.Low, High: m.High}
		}
		covered := goal("in 80 % interval", e.Covered)
		target, met := 80.0, e.Covered.Value >= minCovered && e.Covered.Value <= maxCovered
		covered.Target, covered.Met = &target, &met
		goals = append(goals, covered, goal("error, of the time left", e.Wrong), goal("width of the interval, of the time left", e.Width))
	}
	return goals
}
