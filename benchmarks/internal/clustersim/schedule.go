package clustersim

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
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

// workerCores is the number of CPUs of a worker.
const workerCores = 16

// models are SpeCon's; its dynamic RNN is an LSTM here. work is the time that a job takes with a whole worker, in seconds, and
// part is the part of a worker that it can use.
var models = []struct {
	kind       string
	work, part float64
}{{"vae", 160, 0.7}, {"gru", 330, 0.9}, {"birnn", 300, 0.8}, {"rnn", 200, 0.5}, {"lstm", 260, 0.6}}

// draw returns the jobs of one seed, in the order of their arrival.
func (s Schedule) draw(seed uint64) []sim.Job {
	dice := rand.New(rand.NewPCG(seed, 1))
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
