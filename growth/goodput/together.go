package goodput

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// maxCombinations bounds the combinations that Together compares.
	maxCombinations = 1 << 16
	// maxRound bounds the sum of the step times of the jobs of a GPU, in seconds: a turn ends between two steps.
	maxRound growth.Seconds = 2
)

// Job is a job that shares GPUs with others. Options are the sizes that it can change to, the present one first.
type Job struct {
	GPUs    []growth.GPU
	Options []Option
}

// Together chooses one option for each job: the combination with the highest product of gains. On each GPU the memory of all its jobs
// fits; 0 means that its size is unknown. The sum of their step times is at most two seconds, or what it is at present. A job without
// a GPU is on its own. The search is exhaustive up to maxCombinations.
func Together(jobs []Job, memory map[growth.GPU]growth.MiB) []Option {
	t := newTogether(jobs, memory)
	t.search(0, 0)
	return t.result
}

type together struct {
	jobs  []Job
	on    [][]*device // the devices of each job
	after []float64   // the logarithm of the highest gain of job n and all later ones
	left  int         // combinations

	chosen []Option
	result []Option
	best   float64 // the logarithm of the gain of result
}

// device is a GPU, or what a job without a GPU has.
type device struct {
	memory, used growth.MiB     // the limit, and what the chosen options need
	round, step  growth.Seconds // likewise
}

func newTogether(jobs []Job, memory map[growth.GPU]growth.MiB) *together {
	t := &together{jobs: jobs, left: maxCombinations, after: make([]float64, len(jobs)+1), on: make([][]*device, len(jobs))}
	devices := map[growth.GPU]*device{}
	for n, j := range jobs {
		for _, gpu := range j.GPUs {
			if devices[gpu] == nil {
				devices[gpu] = &device{memory: memory[gpu]}
			}
			if !slices.Contains(t.on[n], devices[gpu]) {
				t.on[n] = append(t.on[n], devices[gpu])
			}
		}
		if len(j.GPUs) == 0 {
			t.on[n] = []*device{{}}
		}
		t.result = append(t.result, j.Options[0])
		t.place(n, j.Options[0], 1)
	}
	for n := len(jobs) - 1; n >= 0; n-- {
		for _, d := range t.on[n] {
			d.limit()
		}
		most := 0.0
		for _, o := range jobs[n].Options {
			most = max(most, math.Log(o.Gain))
		}
		t.after[n] = t.after[n+1] + most
	}
	for n, o := range t.result {
		t.place(n, o, -1)
	}
	t.chosen = slices.Clone(t.result)
	return t
}

// limit sets the limits of a device whose jobs have their present sizes.
func (d *device) limit() {
	d.round = max(maxRound, d.step)
	if d.memory <= 0 {
		d.memory = math.MaxInt64
	}
	d.memory = max(d.memory, d.used)
}

// place adds what an option of a job needs to its devices, times with a sign.
func (t *together) place(job int, o Option, times int) {
	for _, d := range t.on[job] {
		d.used += growth.MiB(times) * o.Memory
		d.step += growth.Seconds(times) * o.Step
	}
}

// fits reports whether the devices of a job have room for the chosen options.
func (t *together) fits(job int) bool {
	return !slices.ContainsFunc(t.on[job], func(d *device) bool {
		return d.used > d.memory || float64(d.step) > float64(d.round)*(1+1e-9)
	})
}

// search completes a choice for the first n jobs, whose gain is given.
func (t *together) search(n int, gain float64) {
	if t.left <= 0 || gain+t.after[n] <= t.best {
		return
	}
	if n == len(t.jobs) {
		t.best, t.result = gain, slices.Clone(t.chosen)
		return
	}
	options := t.jobs[n].Options
	for i := range options {
		t.left--
		o := options[(i+1)%len(options)] // the present size last
		t.chosen[n] = o
		t.place(n, o, 1)
		if t.fits(n) {
			t.search(n+1, gain+math.Log(o.Gain))
		}
		t.place(n, o, -1)
	}
}
