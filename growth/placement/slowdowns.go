package placement

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// PredictedSlowdown is the slowdown of a job on a GPU without a new job (Before) and with it (After).
type PredictedSlowdown struct {
	// Pod is empty for the new job.
	Pod           growth.PodUID
	Kind          interference.Kind
	Before, After interference.Prediction
	// Source is what After is based on.
	Source interference.Source
}

// Slowdowns returns the predictions that the policy scores the GPU by: that of the new job, then those of the residents.
// It returns none for an empty GPU, and for a policy that predicts no slowdowns.
func Slowdowns(p Policy, g GPU, job Newcomer) []PredictedSlowdown {
	var model *interference.Model
	switch p := p.(type) {
	case MarginalGrowth:
		model = p.Model
	case IADeep:
		model = p.Model
	case IADeepLiteral: // predicts by the prior
	default:
		return nil
	}
	if len(g.Residents) == 0 {
		return nil
	}
	if model == nil {
		model = new(interference.Prior())
	}
	c := newCrowd(nil, g, job)
	predicted := []PredictedSlowdown{{
		Kind:   job.Kind,
		Before: interference.Prediction{Mean: 1},
		After:  c.newcomer(model),
		Source: c.source(model, len(g.Residents)),
	}}
	for i, r := range g.Residents {
		before, after := c.resident(model, i)
		predicted = append(predicted, PredictedSlowdown{
			Pod:    r.Pod,
			Kind:   r.Kind,
			Before: before,
			After:  after,
			Source: c.source(model, i),
		})
	}
	return predicted
}
