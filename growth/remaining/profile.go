package remaining

import (
	"slices"
	"strconv"

	"github.com/trellis-gpu/trellis/growth"
)

// Profile is all of a job, from its start: what another of the same program is foretold by as long as that one has not shown
// what its own steps cost.
type Profile struct {
	// Numbers are those of its command line, in their order, and what else tells its runs apart.
	Numbers []string `json:"numbers,omitempty"`
	// Total is how many steps it makes, Start what it takes before the first of them, and PerStep what each takes.
	Total       float64            `json:"total,omitempty"`
	StartupCost growth.CoreSeconds `json:"start,omitempty"`
	StepCost    growth.CoreSeconds `json:"perStep,omitempty"`
}

const (
	// atWorst is the part of what it is foretold that a job takes at least. From there on it may end any time, and is served as
	// fair sharing would before others are: at a half, good jobs with seconds to go waited for one that was not a third through.
	minFraction = 0.75
	// mostSteps are more than a job makes in its life.
	maxSteps = 1e12
)

// Predict completes the progress of a job of the same program, which has so far told at most its steps, and says what is left
// to it, after it has used some work. A total that it has not told is the other's where all of their numbers are the
// same, else the number that stands where that one's total stands. What is left is not known where there is none.
func (w Profile) Predict(p Progress, numbers []string, used growth.CoreSeconds) (Progress, Estimate) {
	if p.Total == 0 {
		p.Total = w.totalSteps(numbers)
	}
	if p.StepCost = w.StepCost; !(p.StepCost > 0) || !(p.Total > 0) {
		return p, Estimate{}
	}
	if p.Done == 0 {
		p.StartupCost = max(0, w.StartupCost-used)
	}
	left := p.StartupCost + growth.CoreSeconds(max(0, p.Total-p.Done))*p.StepCost
	whole := w.StartupCost + growth.CoreSeconds(p.Total)*p.StepCost
	return p, Estimate{Low: min(left, max(0, minFraction*whole-used)), Likely: left, High: left / minFraction, Known: true}
}

// total is how many steps a job with other numbers makes; 0 where they do not tell.
func (w Profile) totalSteps(numbers []string) (totalSteps float64) {
	if slices.Equal(numbers, w.Numbers) {
		return w.Total
	}
	for i := range min(len(numbers), len(w.Numbers)) {
		if w.Total <= 0 || parseSteps(w.Numbers[i]) != w.Total {
			continue
		}
		here := parseSteps(numbers[i])
		if totalSteps > 0 && here != totalSteps {
			return 0 // two numbers might be it
		}
		totalSteps = here
	}
	return totalSteps
}

// number is what a word says; 0 for none, and for more than any job makes steps.
func parseSteps(word string) float64 {
	n, err := strconv.ParseFloat(word, 64)
	if err != nil || !(n <= maxSteps) {
		return 0
	}
	return n
}
