package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth"
)

// longestListed bounds the virtual time of a workload, in seconds: a policy decides every 10 s.
const longestListed = 200_000

// Listed returns a machine of some cores or GPUs that gets exactly the jobs of a workload, at their times. A GPU is as fast as a
// core. Seeds differ in when the metric of each job reaches its target, and in wrong sizes.
func Listed(jobs workload.Workload, size int, onGPUs bool) (Machine, error) {
	m := Machine{Cores: float64(size), Listed: make([]Job, len(jobs))}
	if onGPUs {
		m.GPUs = size
	}
	assigned := make([]float64, size) // the work of each GPU
	work, last := 0.0, 0.0
	for i, job := range jobs {
		width := min(job.Ranks(), size)
		j := Job{Arrival: job.Arrival.Seconds(), Work: float64(job.Work()), Limit: float64(width)}
		if onGPUs {
			j.On = leastLoaded(assigned, width, j.Work)
		}
		work, last = work+j.Work, max(last, j.Arrival)
		m.Listed[i] = j
	}
	if span := last + work/float64(size); span > longestListed {
		return Machine{}, fmt.Errorf("the jobs take %.0f s of virtual time, at most %d are simulated: use --speedup %.0f, or a larger --size",
			span, longestListed, span/longestListed+0.5)
	}
	return m, nil
}

// leastLoaded returns the neighbouring GPUs with the least work, and assigns a job to them.
func leastLoaded(assigned []float64, width int, work float64) (on []growth.GPU) {
	first, least := 0, 0.0
	for from := 0; from+width <= len(assigned); from += width {
		if most := slices.Max(assigned[from : from+width]); from == 0 || most < least {
			first, least = from, most
		}
	}
	for g := first; g < first+width; g++ {
		assigned[g] += work / float64(width)
		on = append(on, growth.GPU(fmt.Sprintf("GPU-%d", g)))
	}
	return on
}

// drawListed returns the listed jobs with the hidden truths of a seed.
func (m Machine) drawListed(dice, mistakes *rand.Rand, errors float64) []Job {
	jobs := slices.Clone(m.Listed)
	for i := range jobs {
		jobs[i].Need = jobs[i].Work * (0.15 + 0.35*dice.Float64())
		jobs[i].Wrong = 1 + errors*(2*mistakes.Float64()-1)
	}
	return jobs
}

// textOfListed returns a text such as "300 listed jobs on 4 cores".
func (m Machine) textOfListed() string {
	size, processor := int(m.Cores), "core"
	if m.GPUs > 0 {
		size, processor = m.GPUs, "GPU"
	}
	if size > 1 {
		processor += "s"
	}
	return fmt.Sprintf("%d listed jobs on %d %s", len(m.Listed), size, processor)
}
