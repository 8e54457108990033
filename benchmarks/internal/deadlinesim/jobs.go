package deadlinesim

import (
	"math"
	"math/rand/v2"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// Job is a training job with parameter servers and workers. Each worker makes iterations of the same work.
type Job struct {
	Law     Law
	Arrival float64
	// Workers and Servers are as submitted, Steps the iterations of each worker then.
	Workers, Servers int
	Steps            float64
	// Peak is the peak CPU of a worker in cores, Memory its peak memory in gigabytes, as predicted by the configurator.
	Peak, Memory float64
	// CPUGuess and MemoryGuess are what the user requests, relative to the peaks.
	CPUGuess, MemoryGuess float64
	// Deadline is the time after the arrival; infinite for a job without one.
	Deadline float64
}

// work returns the iterations of all workers.
func (j Job) work() float64 { return j.Steps * float64(j.Workers) }

// Alone returns the time that the job takes with all the CPU that it can use.
func (j Job) Alone() float64 { return j.Steps * j.Law.Time(j.Law.Usable) }

// Cores returns the mean number of cores that the job uses then.
func (j Job) cores() float64 { return j.Peak * j.Law.Use(j.Law.Usable) * float64(j.Workers) }

// due returns the deadline on the clock.
func (j Job) due() float64 { return j.Arrival + j.Deadline }

// Parameters of a workload. Those of Qore-DL are from the job generator of its CPU experiments.
const (
	maxWorkers, maxServers = 5, 3 // Qore-DL: as submitted, uniform from 1
	// deadlines are T·steps·U{0.66 … 2.44} + 750 s in Qore-DL's experiments, with T at the predicted peak.
	minSlack, maxSlack, extra = 66, 244, 750.0
	// shortest and longest bound T·steps. The steps of Qore-DL's jobs are not published; its deadlines are hours.
	shortest, longest = 1_000.0, 10_000.0
	// without is the part of the jobs that have no deadline.
	without = 0.2
)

// server is a parameter server. Qore-DL accounts it so.
const serverCores, serverMemory = 0.72, 2.0

// Draw returns the jobs of a seed, in the order of arrival. In the long run they need load times the free cores.
func Draw(l Layout, b background, laws []Law, load float64, seed uint64) []Job {
	dice := rand.New(rand.NewPCG(seed, 1))
	jobs := make([]Job, l.Jobs)
	need := 0.0 // core-seconds
	for i := range jobs {
		jobs[i] = draw(laws, dice)
		need += jobs[i].cores() * jobs[i].Alone()
	}
	arrivals := workload.Arrivals(l.Jobs, seed)
	window := need / (load * b.free())
	for i := range jobs {
		jobs[i].Arrival = window * float64(arrivals[i]) / float64(arrivals[len(arrivals)-1])
	}
	return jobs
}

func draw(laws []Law, dice *rand.Rand) Job {
	j := Job{Law: laws[dice.IntN(len(laws))]}
	j.Workers, j.Servers = 1+dice.IntN(maxWorkers), 1+dice.IntN(maxServers)
	j.Peak, j.Memory = peak(j.Law)
	j.CPUGuess = 0.5 + 0.1*float64(dice.IntN(8))       // Qore-DL's generator
	j.MemoryGuess = 0.875 + 0.1*float64(dice.IntN(19)) // likewise
	length := shortest * math.Pow(longest/shortest, dice.Float64())
	j.Steps = math.Ceil(length / j.Law.Time(1))
	slack := 0.01 * float64(minSlack+dice.IntN(maxSlack-minSlack+1))
	j.Deadline = j.Law.Time(1)*j.Steps*slack + extra
	if dice.Float64() < without {
		j.Deadline = math.Inf(1)
	}
	return j
}

// peak returns the peaks of a worker. They are not published but for one job of batch size 785, which has 9 cores and 8.7 GB. The
// others are assumed to grow with the square root of the batch size.
func peak(l Law) (cores, memory float64) {
	scale := math.Sqrt(float64(l.Configuration.Batch) / 785)
	return 9 * scale, 8.7 * scale
}

// memoryUse is the used part of the memory that the configurator reserves.
const memoryUse = 1 / 1.657
