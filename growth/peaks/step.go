package peaks

import (
	"cmp"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/predict"
)

// Step is the measured time of a job's steps, and what the job used in that time.
type Step struct {
	Seconds growth.Seconds
	// Use is how much the job used of the resource that its node divides, in thousandths of a core or of a GPU; 0 if unknown.
	Use  growth.MilliCPU
	Unit growth.Unit
}

// MaxSteps bounds the observed steps of a job that correct a prediction. The newest count.
const MaxSteps = 5

// costUnit identifies the steps whose costs can be compared: the cost is a time where the use is unknown, else work.
type costUnit struct {
	known bool
	unit  growth.Unit
}

func (s Step) costUnit() costUnit { return costUnit{known: s.Use > 0, unit: s.Unit} }

func (s Step) valid() bool {
	return s.Seconds >= 0 && s.Seconds <= maxStep && s.Use >= 0 && s.Use <= maxCPU &&
		(s.Unit == growth.CoreSecond || s.Unit == growth.GPUSecond)
}

// cost is the work of a step. It does not depend on the share that the job had: a job with a tenth of a core needs ten times as long.
func (s Step) cost() float64 {
	if s.Use == 0 {
		return float64(s.Seconds)
	}
	return float64(s.Seconds) * s.Use.Cores()
}

// TypicalStep returns the step of median cost, of those that can be compared with the newest one, which is the last.
func TypicalStep(seen []Step) Step {
	if len(seen) == 0 {
		return Step{}
	}
	comparable := slices.DeleteFunc(slices.Clone(seen), func(s Step) bool { return s.costUnit() != seen[len(seen)-1].costUnit() })
	slices.SortStableFunc(comparable, func(a, b Step) int { return cmp.Compare(a.cost(), b.cost()) })
	return comparable[len(comparable)/2]
}

// StepSeconds predicts the time of a step at the use of the job's Step: from earlier runs of the program, else from the model that the
// job describes. Steps of the job itself correct the prediction, and suffice if there is no other.
func (k *Knowledge) StepSeconds(job Run, seen ...Step) (Interval, bool) {
	of := job.step().costUnit()
	cost, ok := k.stepCost(job, of, costs(of, seen))
	if !ok || !job.step().valid() {
		return Interval{}, false
	}
	use := 1.0
	if of.known {
		use = job.StepUse.Cores()
	}
	at := func(cost float64) float64 { return min(cost/use, float64(maxStep)) }
	return Interval{Low: at(cost.Low), Likely: at(cost.Likely), High: at(cost.High)}, true
}

// costs returns the costs of the newest steps, of those that can be compared.
func costs(of costUnit, seen []Step) (all []float64) {
	for _, s := range seen[max(0, len(seen)-MaxSteps):] {
		if s.valid() && s.Seconds > 0 && s.costUnit() == of {
			all = append(all, s.cost())
		}
	}
	return all
}

// stepCost predicts the cost of a step of a job, after some costs that it has had.
func (k *Knowledge) stepCost(job Run, of costUnit, own []float64) (Interval, bool) {
	var earlier []float64
	for _, r := range k.runs {
		if job.Kind != "" && r.similar(job) && r.Model == job.Model && r.step().costUnit() == of {
			earlier = append(earlier, r.step().cost())
		}
	}
	prior := FromRuns(earlier)
	if learned := k.models[job.Namespace].step[of]; !prior.known() && learned != nil && job.Model != (Model{}) {
		p, ok := learned.Predict(job.Model.job(), predict.Allocation{}, observations(own)...) // a cost is equal at each allocation
		return Interval{Low: float64(p.Low), Likely: float64(p.Seconds), High: float64(p.High)}, ok && !math.IsInf(float64(p.High), 1)
	}
	if prior = prior.after(own); !prior.known() {
		return Interval{}, false
	}
	return Interval{Low: prior.quantile(low), Likely: prior.quantile(middle), High: prior.quantile(high)}, true
}

func observations(costs []float64) []predict.Observation {
	all := make([]predict.Observation, len(costs))
	for i, cost := range costs {
		all[i].Seconds = growth.Seconds(cost)
	}
	return all
}
