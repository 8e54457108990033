package flowcon

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth"
)

// Schedule lists jobs with their arrivals.
type Schedule struct {
	Name string
	Jobs workload.Workload
}

const (
	// window is the time in which the jobs of random schedules arrive: a quarter of the study's 200 s.
	window = 50 * time.Second
	// batch is half of the jobs' default, and halves the time of a step.
	batch = 32
	// request leaves room for fifteen jobs next to Trellis.
	request growth.MilliCPU = 50
)

// early makes jobs learn early, as the study's did: after a fifth of the usual steps they have made 61 to 93 % of
// their improvement (VAE 69, GRU 87, bidirectional RNN 70 %; in the study VAE 65, GRU 90, bidirectional RNN 98 %).
var early = []string{"--learning-rate", "0.003"}

// Schedules returns the study's four schedules. It drew arrivals at random and did not publish them. Here the seed determines them,
// and the length of each job: 0.5 to 1.5 times the usual number of steps.
func Schedules(seed uint64) []Schedule {
	fixed := Schedule{Name: "3 fixed"}
	for i, kind := range []string{"vae", "cnn", "cnn"} { // the study's VAE, MNIST and MNIST in another framework
		fixed.Jobs = append(fixed.Jobs, job(i, kind, time.Duration(i)*10*time.Second, 1))
	}
	return []Schedule{
		fixed,
		randomSchedule(seed, "lstm", "vae", "vae", "cnn", "gru"),
		randomSchedule(seed+1, cycled(10)...),
		randomSchedule(seed+2, cycled(15)...),
	}
}

func randomSchedule(seed uint64, kinds ...string) Schedule {
	random := rand.New(rand.NewPCG(seed, 0))
	s := Schedule{Name: fmt.Sprint(len(kinds), " random")}
	for i, kind := range kinds {
		arrival := time.Duration(random.Int64N(int64(window))).Round(time.Second)
		s.Jobs = append(s.Jobs, job(i, kind, arrival, 0.5+random.Float64()))
	}
	first := slices.MinFunc(s.Jobs, func(a, b workload.Job) int { return cmp.Compare(a.Arrival, b.Arrival) }).Arrival
	for i := range s.Jobs {
		s.Jobs[i].Arrival -= first
	}
	slices.SortStableFunc(s.Jobs, func(a, b workload.Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return s
}

// cycled returns n kinds, in turn.
func cycled(n int) []string {
	kinds := make([]string, n)
	for i := range kinds {
		kinds[i] = workload.FlowConKinds()[i%len(workload.FlowConKinds())]
	}
	return kinds
}

func job(i int, kind string, arrival time.Duration, length float64) workload.Job {
	return workload.Job{
		Name: fmt.Sprintf("job-%d", i+1), Kind: kind, Arrival: arrival, Steps: int(length * float64(workload.UsualSteps(kind))), Batch: batch,
		GPUMemory: "3Gi", Metric: "loss:min", Progress: "socket", CPU: request, Seed: uint32(i + 1), Further: early,
	}
}

// Repeated returns the n-th repeat, from 1: the same jobs at the same times, with other initial weights and data.
func (s Schedule) Repeated(n int) Schedule {
	repeated := Schedule{Name: s.Name, Jobs: slices.Clone(s.Jobs)}
	for i := range repeated.Jobs {
		repeated.Jobs[i].Seed += uint32(100 * (n - 1))
	}
	return repeated
}

// Quick returns the schedule with an eighth of the steps and a quarter of the arrival times.
func (s Schedule) Quick() Schedule {
	quick := Schedule{Name: s.Name, Jobs: slices.Clone(s.Jobs)}
	for i := range quick.Jobs {
		quick.Jobs[i].Steps /= 8
		quick.Jobs[i].Arrival = (quick.Jobs[i].Arrival / 4).Round(time.Second)
	}
	return quick
}
