package goodput

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// maxCombinations bounds the combinations that Together compares.
	maxCombinations = 1 << 16
	// maxRound bounds the sum of the step times of the jobs of a GPU, in seconds: a turn ends between two steps.
	maxRound growth.Seconds = 2
)

// Together chooses one option for each job of a GPU, of which the first is the job's present size: the combination with the
// highest product of gains. The memory of all fits the GPU; 0 means that its size is unknown. The sum of step times is at most
// two seconds, or what it is at present. The search is exhaustive up to maxCombinations.
func Together(jobs [][]Option, gpu growth.MiB) []Option {
	t := together{jobs: jobs, round: maxRound, memory: gpu, left: maxCombinations, after: make([]float64, len(jobs)+1)}
	var step growth.Seconds
	var used growth.MiB
	for _, options := range jobs {
		step += options[0].Step
		used += options[0].Memory
		t.result = append(t.result, options[0])
	}
	t.round, t.memory = max(t.round, step), max(t.memory, used)
	if gpu <= 0 {
		t.memory = math.MaxInt64
	}
	for n := len(jobs) - 1; n >= 0; n-- {
		most := 0.0
		for _, o := range jobs[n] {
			most = max(most, math.Log(o.Gain))
		}
		t.after[n] = t.after[n+1] + most
	}
	t.search(nil, 0, 0, 0)
	return t.result
}

type together struct {
	jobs   [][]Option
	memory growth.MiB
	round  growth.Seconds
	after  []float64 // the logarithm of the highest gain of job n and all later ones
	left   int       // combinations

	result []Option
	best   float64 // the logarithm of the gain of result
}

// search completes a choice for the first jobs, whose gain, memory and step times are given.
func (t *together) search(chosen []Option, gain float64, memory growth.MiB, step growth.Seconds) {
	n := len(chosen)
	if t.left <= 0 || memory > t.memory || float64(step) > float64(t.round)*(1+1e-9) || gain+t.after[n] <= t.best {
		return
	}
	if n == len(t.jobs) {
		t.best, t.result = gain, append([]Option(nil), chosen...)
		return
	}
	for i := range t.jobs[n] {
		t.left--
		o := t.jobs[n][(i+1)%len(t.jobs[n])] // the present size last
		t.search(append(chosen, o), gain+math.Log(o.Gain), memory+o.Memory, step+o.Step)
	}
}
