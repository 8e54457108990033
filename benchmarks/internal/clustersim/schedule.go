package clustersim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/growth"
)

// Schedule is a set of jobs for a cluster.
type Schedule struct {
	Name    string `json:"name"`
	Workers int    `json:"workers"`
	Jobs    int    `json:"jobs"`
	// Window is the time in which the jobs arrive at random; with Every, one arrives every so many seconds instead.
	Window float64 `json:"windowSeconds,omitempty"`
	Every  float64 `json:"everySeconds,omitempty"`
	// Mixed means that a job is of any model, else of the first.
	Mixed bool `json:"mixed,omitempty"`
	// GPUs is the number of GPUs of each worker, whose time is divided; 0 on workers whose CPUs are.
	GPUs int `json:"gpus,omitempty"`
	// Switching is the cost of a switch from one job to another, as a part of the time slice before it.
	Switching float64 `json:"switching,omitempty"`
}

// Schedules returns SpeCon's.
func Schedules() []Schedule {
	return []Schedule{
		{Name: "20 VAE", Workers: 4, Jobs: 20, Every: 50},
		{Name: "20 mixed", Workers: 4, Jobs: 20, Window: 300, Mixed: true},
		{Name: "30 mixed", Workers: 4, Jobs: 30, Window: 300, Mixed: true},
		{Name: "50 mixed", Workers: 8, Jobs: 50, Window: 1200, Mixed: true},
	}
}

const (
	// workerCores is the number of CPUs of a worker without GPUs.
	workerCores = 16
	// coresPerGPU is the number of CPUs for each GPU of one with GPUs.
	coresPerGPU = 4
)

// cores returns the number of CPUs of a worker.
func (s Schedule) cores() float64 {
	if s.GPUs > 0 {
		return float64(coresPerGPU * s.GPUs)
	}
	return workerCores
}

// capacity returns the number of what the jobs of a worker share: GPUs or CPUs.
func (s Schedule) capacity() float64 {
	if s.GPUs > 0 {
		return float64(s.GPUs)
	}
	return workerCores
}

// gpus returns the GPUs of a worker.
func (s Schedule) gpus() []growth.GPU {
	all := make([]growth.GPU, s.GPUs)
	for i := range all {
		all[i] = growth.GPU(fmt.Sprintf("GPU-%d", i))
	}
	return all
}

// models are SpeCon's; its dynamic RNN is an LSTM here. work is the time that a job takes with a whole worker, in seconds, and
// part is the part of a worker that it can use.
var models = []struct {
	kind       string
	work, part float64
}{{"vae", 160, 0.7}, {"gru", 330, 0.9}, {"birnn", 300, 0.8}, {"rnn", 200, 0.5}, {"lstm", 260, 0.6}}

// draw returns the jobs of one seed, in the order of their arrival.
func (s Schedule) draw(seed uint64) []sim.Job {
	dice := rand.New(rand.NewPCG(seed, 1))
	if s.GPUs > 0 {
		return s.drawOnGPUs(dice)
	}
	jobs := make([]sim.Job, s.Jobs)
	for i := range jobs {
		model := models[0]
		if s.Mixed {
			model = models[dice.IntN(len(models))]
		}
		arrival := s.Every * float64(i)
		if s.Every == 0 {
			arrival = s.Window * dice.Float64()
		}
		length := 0.75 + 0.5*dice.Float64()
		jobs[i] = sim.Recorded(model.kind, dice.IntN(2), length, sim.Job{
			Arrival: arrival,
			Work:    model.work * length * workerCores,
			Limit:   model.part * workerCores,
		})
	}
	slices.SortStableFunc(jobs, func(a, b sim.Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return jobs
}

// drawOnGPUs returns jobs of one GPU each, like those of sim-gpus: alone a job takes 32 to 312 s, a third of the jobs waits for data
// in up to half of its time, and all declare their sizes. They get their GPUs when they are placed.
func (s Schedule) drawOnGPUs(dice *rand.Rand) []sim.Job {
	jobs := make([]sim.Job, s.Jobs)
	for i := range jobs {
		j := sim.Job{Arrival: s.Window * dice.Float64(), Limit: 1, Work: 32 + 280*dice.Float64(), Wrong: 1}
		if dice.IntN(3) == 0 {
			j.Limit -= 0.5 * dice.Float64()
		}
		j.Need = j.Work * (0.15 + 0.35*dice.Float64())
		jobs[i] = j
	}
	slices.SortStableFunc(jobs, func(a, b sim.Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return jobs
}
