package loaderbench

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

const (
	// measurementError is the standard deviation of what Trellis measures.
	measurementError = 0.05
	// maxWorkers is the largest number of workers per device that the tuner predicts.
	maxWorkers = 32
	// rebuildSeconds is the time that a change costs each changed job, under each contestant.
	rebuildSeconds = 4
)

// virtualJob is a job with its true curve.
type virtualJob struct {
	truth   loader.Model
	devices int
	samples float64 // work per device
	known   *knowledge
}

// knowledge is what Trellis knows of a running job.
type knowledge struct {
	loaders  int
	measured []loader.Measurement
}

// rate returns the samples per second and device with w workers. A part of a worker is one that has a core for part of the time.
func (j virtualJob) rate(w float64) float64 {
	whole := int(w)
	low, high := float64(j.truth.Rate(whole)), float64(j.truth.Rate(whole+1))
	return low + (w-float64(whole))*(high-low)
}

// fraction returns the fraction of full speed with w workers.
func (j virtualJob) fraction(w float64) float64 { return j.rate(w) / float64(j.truth.MaxRate()) }

func (j virtualJob) application() application {
	return application{gpu: float64(j.truth.MaxRate()), loader: j.rate(1), devices: j.devices}
}

// mix is some jobs on one node.
type mix struct {
	jobs   []virtualJob
	budget int
}

// randomMix returns two to six jobs. What a job needs to run at full speed is a few loaders to dozens, or less than one.
func randomMix(rng *rand.Rand) mix {
	m := mix{jobs: make([]virtualJob, 2+rng.IntN(5))}
	for i := range m.jobs {
		load := 0.002 * math.Exp(rng.NormFloat64()) // seconds per sample of one loader
		need := 2 * math.Exp(1.2*rng.NormFloat64())
		m.jobs[i] = virtualJob{
			truth: loader.Model{
				Parallel: growth.Seconds(load),
				Serial:   growth.Seconds(load * 0.02 * rng.Float64()),
				Compute:  growth.Seconds(load / need),
			},
			devices: 1 + rng.IntN(2),
		}
		m.jobs[i].samples = (60 + 540*rng.Float64()) / float64(m.jobs[i].truth.Compute)
	}
	m.budget = 2*len(m.jobs) + rng.IntN(6*len(m.jobs))
	return m
}

// contestant returns the workers per device of each job.
type contestant struct {
	name     string
	allocate func(m mix, rng *rand.Rand) []int
}

func published(allocate func([]application, int) []int) func(mix, *rand.Rand) []int {
	return func(m mix, _ *rand.Rand) []int {
		var apps []application
		for _, j := range m.jobs {
			apps = append(apps, j.application())
		}
		return allocate(apps, m.budget)
	}
}

var contestants = []contestant{
	{"Trellis", trellis},
	{"WAA, one node", published(waaSingleNode)},
	{"WAA, several nodes", published(waaMultiNode)},
	{"even split", published(evenSplit)},
}

// trellis measures jobs with their present workers, fits models and divides by the policy of the tuner, until that changes
// nothing any more. Jobs begin with the even split.
func trellis(m mix, rng *rand.Rand) []int {
	policy := loader.DefaultChangePolicy()
	workers := published(evenSplit)(m, rng)
	for i, j := range m.jobs {
		if j.known == nil {
			m.jobs[i].known = &knowledge{loaders: workers[i]}
		}
		workers[i] = m.jobs[i].known.loaders
	}
	for range 8 {
		node := loader.RunningNode{Budget: m.budget}
		for i, j := range m.jobs {
			for range 3 {
				j.known.measured = append(j.known.measured, j.measure(workers[i], rng))
			}
			model := loader.Fit(loader.Published(), j.known.measured)
			node.Running = append(node.Running, loader.Running{
				Job: loader.Job{
					UID:    growth.PodUID(strconv.Itoa(i)),
					Weight: loader.Weight(1 / model.MaxRate()),
					Width:  j.devices,
					Curve:  model.Curve(maxWorkers),
				},
				Loaders:   workers[i],
				Unchanged: time.Hour,
				Remaining: growth.Seconds(j.samples / j.rate(float64(workers[i]))),
			})
		}
		plan := policy.Divide([]loader.RunningNode{node})
		same := true
		for i := range m.jobs {
			w := plan.Loaders[growth.PodUID(strconv.Itoa(i))]
			same = same && w == workers[i]
			workers[i], m.jobs[i].known.loaders = w, w
		}
		if same {
			break
		}
	}
	return workers
}

// measure returns a measurement with an error.
func (j virtualJob) measure(w int, rng *rand.Rand) loader.Measurement {
	rate := j.rate(float64(w))
	waiting := max(.001, 1-rate*float64(j.truth.Compute))
	noise := math.Exp(measurementError * rng.NormFloat64())
	return loader.Measurement{
		Loaders: w,
		Rate:    growth.PerSecond(rate * noise),
		Batch:   64,
		Waiting: growth.Share(min(1, waiting*math.Exp(measurementError*rng.NormFloat64()))),
	}
}

// effective returns the workers that an allocation amounts to. If it exceeds the budget, all of them share the cores that there
// are.
func (m mix) effective(workers []int) []float64 {
	part := min(1, float64(m.budget)/float64(max(1, cores(applications(m.jobs), workers))))
	all := make([]float64, len(workers))
	for i, w := range workers {
		all[i] = part * float64(w)
	}
	return all
}

// value is what an allocation is worth.
func (m mix) value(workers []int, of func(j virtualJob, w float64) float64) (total float64) {
	for i, w := range m.effective(workers) {
		total += float64(m.jobs[i].devices) * of(m.jobs[i], w)
	}
	return total
}

// optimum returns the largest sum of fractions, by trying all that a recursion over jobs and cores can reach.
func (m mix) optimum() float64 {
	best := make([]float64, m.budget+1)
	for _, j := range m.jobs {
		next := make([]float64, m.budget+1)
		for c := range next {
			for w := 0; w*j.devices <= c; w++ {
				next[c] = max(next[c], best[c-w*j.devices]+float64(j.devices)*j.fraction(float64(w)))
			}
		}
		best = next
	}
	return best[m.budget]
}

// exact returns what Allocate reaches if it knows the true curves.
func (m mix) exact() float64 {
	var jobs []loader.Job
	for i, j := range m.jobs {
		jobs = append(jobs, loader.Job{
			UID:    growth.PodUID(strconv.Itoa(i)),
			Weight: loader.Weight(1 / j.truth.MaxRate()),
			Width:  j.devices,
			Curve:  j.truth.Curve(loader.MaxLoaders),
		})
	}
	return loader.Allocate(jobs, m.budget).Value(jobs)
}

// unknown returns the same jobs, as they arrive.
func (m mix) unknown() mix {
	jobs := slices.Clone(m.jobs)
	for i := range jobs {
		jobs[i].known = nil
	}
	return mix{jobs: jobs, budget: m.budget}
}

// makespan returns the seconds until all jobs have ended. The rest is divided again whenever one ends.
func (m mix) makespan(c contestant, rng *rand.Rand) float64 {
	jobs := m.unknown().jobs
	var before []int
	now := 0.0
	for len(jobs) > 0 {
		running := mix{jobs: jobs, budget: m.budget}
		workers := c.allocate(running, rng)
		effective := running.effective(workers)
		left := make([]float64, len(jobs)) // seconds to the end of each
		shortest := math.Inf(1)
		for i, j := range jobs {
			left[i] = j.samples / j.rate(effective[i])
			if before != nil && before[i] != workers[i] {
				left[i] += rebuildSeconds
			}
			shortest = min(shortest, left[i])
		}
		now += shortest
		var rest []virtualJob
		before = []int{}
		for i, j := range jobs {
			if j.samples *= 1 - shortest/left[i]; left[i] > shortest {
				rest = append(rest, j)
				before = append(before, workers[i])
			}
		}
		jobs = rest
	}
	return now
}

func applications(jobs []virtualJob) []application {
	var apps []application
	for _, j := range jobs {
		apps = append(apps, j.application())
	}
	return apps
}

func virtual(b *bench) {
	seeds, mixes := 30, 100
	if *quickRun {
		seeds, mixes = 20, 5
	}
	b.seedCount = seeds
	worst := math.Inf(1)
	measures := map[string][]float64{}
	var reached []float64 // by Trellis, of the optimum, on each node
	for seed := range seeds {
		sums := map[string]float64{}
		rng := rand.New(rand.NewPCG(uint64(seed+1), 31))
		for range mixes {
			m := randomMix(rng)
			optimum := m.optimum()
			worst = min(worst, 100*m.exact()/optimum)
			for _, c := range contestants {
				workers := c.allocate(m.unknown(), rng)
				sums[c.name+" samples"] += m.value(workers, virtualJob.rate)
				sums[c.name+" fraction"] += m.value(workers, virtualJob.fraction)
				part := 100 * m.value(workers, virtualJob.fraction) / optimum
				sums[c.name+" optimum"] += part / float64(mixes)
				if c.name == "Trellis" {
					reached = append(reached, part)
				}
				sums[c.name+" makespan"] += m.makespan(c, rng)
			}
		}
		for _, c := range contestants {
			measures[c.name+" optimum"] = append(measures[c.name+" optimum"], sums[c.name+" optimum"])
			for _, what := range []string{"samples", "fraction", "makespan"} {
				change := 100 * (sums[c.name+" "+what]/sums["even split "+what] - 1)
				measures[c.name+" "+what] = append(measures[c.name+" "+what], change)
			}
		}
	}
	b.figure("random jobs, Allocate with the true curves, worst mix: of the optimum", "%", worst).atLeast(99)
	b.figure("random jobs, Trellis, worst mix: of the optimum", "%", slices.Min(reached))
	b.figure("random jobs, Trellis, 5th percentile of the mixes: of the optimum", "%", percentile(reached, 5))
	for _, c := range contestants {
		b.interval("random jobs, "+c.name+": of the optimum", "%", measures[c.name+" optimum"])
	}
	for _, c := range contestants[:len(contestants)-1] {
		b.interval("random jobs, "+c.name+": fractions of full speed against the even split", "%", measures[c.name+" fraction"])
		b.interval("random jobs, "+c.name+": samples/s against the even split", "%", measures[c.name+" samples"])
		b.interval("random jobs, "+c.name+": makespan against the even split", "%", measures[c.name+" makespan"])
	}
}

// percentile returns the least value that is not below a percentage of the values.
func percentile(values []float64, percent int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

func TestVirtual_AllocateReachesTheOptimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		m := randomMix(rng)
		require.InEpsilon(t, m.optimum(), m.exact(), 1e-9)
		for _, c := range contestants {
			if workers := c.allocate(m, rng); cores(applications(m.jobs), workers) <= m.budget {
				require.LessOrEqual(t, m.value(workers, virtualJob.fraction), m.optimum()*(1+1e-9), c.name)
			}
		}
	}
}
