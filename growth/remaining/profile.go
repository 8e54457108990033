package remaining

import (
	"slices"
	"strconv"

	"github.com/trellis-gpu/trellis/growth"
)

// Profile describes a whole run of a job. It predicts other runs of the same program that have not yet measured the
// cost of their own steps.
type Profile struct {
	// Numbers are the numbers on the command line, in order, and other arguments that differ between runs.
	Numbers []string `json:"numbers,omitempty"`
	// Total is the number of steps of the run; 0 if unknown.
	Total float64 `json:"total,omitempty"`
	// StartupCost is the work before the first step.
	StartupCost growth.Work `json:"start,omitempty"`
	// StepCost is the work of one step.
	StepCost growth.Work `json:"perStep,omitempty"`
	// Unit is the unit of both costs.
	Unit growth.Unit `json:"unit,omitempty"`
}

const (
	// minFraction is the smallest fraction of the predicted work that a job may take. From that point on the job counts
	// as possibly finished and is served at least its fair share. With a fraction of 0.5, jobs that had reached their
	// target and were seconds from their end waited for jobs in their first third.
	minFraction = 0.75
	// maxSteps is an upper bound on the steps of any job.
	maxSteps = 1e12
)

// Predict estimates the remaining work of a job with other command-line numbers that has done some work so far. It
// returns p with the missing parts filled in from the profile.
//
// If the job has not declared its total, the profile provides it. With equal numbers the total is the same. Otherwise
// it is the number in the position where the profile's numbers contain the profile's total. Without a total the
// remaining work is unknown.
func (w Profile) Predict(p Progress, numbers []string, used growth.Work) (Progress, Estimate) {
	if p.Total == 0 {
		p.Total = w.totalSteps(numbers)
	}
	p.StepCost, p.Unit = w.StepCost, w.Unit
	if !(p.StepCost > 0) || !(p.Total > 0) {
		return p, Estimate{}
	}
	if p.Done == 0 {
		p.StartupCost = max(0, w.StartupCost-used)
	}
	left := p.StartupCost + growth.Work(max(0, p.Total-p.Done))*p.StepCost
	whole := w.StartupCost + growth.Work(p.Total)*p.StepCost
	return p, Estimate{
		Low:    min(left, max(0, minFraction*whole-used)),
		Likely: left,
		High:   left / minFraction,
		Known:  true,
		Unit:   w.Unit,
	}
}

// totalSteps returns the number of steps of a job with other numbers; 0 if the numbers do not determine it.
func (w Profile) totalSteps(numbers []string) (total float64) {
	if slices.Equal(numbers, w.Numbers) {
		return w.Total
	}
	for i := range min(len(numbers), len(w.Numbers)) {
		if w.Total <= 0 || parseSteps(w.Numbers[i]) != w.Total {
			continue
		}
		steps := parseSteps(numbers[i])
		if total > 0 && steps != total {
			return 0 // two positions match, with different values
		}
		total = steps
	}
	return total
}

// parseSteps parses a number of steps. It returns 0 for a word that is not a number or exceeds maxSteps.
func parseSteps(word string) float64 {
	n, err := strconv.ParseFloat(word, 64)
	if err != nil || !(n <= maxSteps) {
		return 0
	}
	return n
}
