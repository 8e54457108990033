package sim

import (
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// learned is what the coordinator would know of a job by its reports.
type learned struct {
	Past
	kind string
}

// learn is what is left to a job and what it needs by what it has reported and by others of its kind, as the coordinator learns
// it; believed is what is left by the job's own steps, once it has made any.
func (p *harmless) learn(r *Running, believed remaining.Estimate) (left, need remaining.Estimate, foretold bool) {
	own := p.learned[r.Index]
	if own == nil {
		own = &learned{kind: r.Kind}
		p.learned[r.Index] = own
	}
	for _, report := range r.heard() {
		own.Curve.Add(r.steps(report.After*r.Work), report.Value)
	}
	others := p.others(r)
	at := remaining.Progress{Done: r.steps(r.Done), Total: r.Steps, StepCost: r.whole().StepCost}
	if left = believed; at.Done > 0 {
		own.Whole = r.whole()
	} else {
		at, left = foretell(others, r)
	}
	curves := make([]remaining.Curve, len(others))
	for i, other := range others {
		curves[i] = other.Curve
	}
	need, _, foretold = own.Curve.WorkToTargetAmong(curves, growth.Minimize, at)
	if !need.Known && at.Done > 0 {
		need = remaining.TypicalWorkToTarget(growth.CoreSeconds(r.Done), left)
	}
	return left, need, foretold
}

// foretell is where a job begins and what is left to it, by the first of others that tells.
func foretell(others []Past, r *Running) (at remaining.Progress, left remaining.Estimate) {
	for _, other := range others {
		if at, left = other.Whole.Predict(remaining.Progress{}, r.whole().Numbers, growth.CoreSeconds(r.Done)); left.Known {
			return at, left
		}
	}
	return remaining.Progress{}, remaining.Estimate{}
}

// others are the jobs of the same kind: one that ran before if any did, those that run, and those that have ended.
func (p *harmless) others(r *Running) []Past {
	all := slices.Clone(r.Before)
	for _, i := range slices.Sorted(maps.Keys(p.learned)) {
		if i != r.Index && p.learned[i].kind == r.Kind {
			all = append(all, p.learned[i].Past)
		}
	}
	return all
}
