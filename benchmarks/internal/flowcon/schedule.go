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

// Schedule is which jobs arrive when.
type Schedule struct {
	Name string
	Jobs workload.Workload
}

const (
	// window is the time in which random schedules have their jobs arrive: a quarter of the study's 200 s.
	window = 50 * time.Second
	// batch is half of the jobs' default, and so is what a step takes.
	batch = 32
	// request leaves room for fifteen jobs beside Trellis itself.
	request growth.MilliCPU = 50
)

// early has jobs learn as the study's did, most of it soon: these have made 61 to 93 % of their way after a fifth of the usual
// steps (VAE 69, GRU 87, bidirectional RNN 70 %), the study's VAE 65, GRU 90 and bidirectional RNN 98 %.
var early = []string{"--learning-rate", "0.003"}

// Schedules are the study's four. Where it drew arrivals at random and did not publish them, the seed draws them, and how
// long each job is: 0.5 to 1.5 times the usual.
func Schedules(seed uint64) []Schedule {
	fixed := Schedule{Name: "3 fixed"}
	for i, kind := range []string{"vae", "cnn", "cnn"} { // the study's VAE, MNIST and MNIST in another framework
		fixed.Jobs = append(fixed.Jobs, job(i, kind, time.Duration(i)*10*time.Second, 1))
	}
	return []Schedule{
		fixed,
		random(seed, "lstm", "vae", "vae", "cnn", "gru"),
		random(seed+1, cycled(10)...),
		random(seed+2, cycled(15)...),
	}
}

func random(seed uint64, kinds ...string) Schedule {
	dice := rand.New(rand.NewPCG(seed, 0))
	s := Schedule{Name: fmt.Sprint(len(kinds), " random")}
	for i, kind := range kinds {
		arrival := time.Duration(dice.Int64N(int64(window))).Round(time.Second)
		s.Jobs = append(s.Jobs, job(i, kind, arrival, 0.5+dice.Float64()))
	}
	first := slices.MinFunc(s.Jobs, func(a, b workload.Job) int { return cmp.Compare(a.Arrival, b.Arrival) }).Arrival
	for i := range s.Jobs {
		s.Jobs[i].Arrival -= first
	}
	slices.SortStableFunc(s.Jobs, func(a, b workload.Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return s
}

// cycled are so many kinds, each as often as the next.
func cycled(n int) []string {
	kinds := make([]string, n)
	for i := range kinds {
		kinds[i] = workload.Kinds()[i%len(workload.Kinds())]
	}
	return kinds
}

func job(i int, kind string, arrival time.Duration, length float64) workload.Job {
	return workload.Job{
		Name: fmt.Sprintf("job-%d", i+1), Kind: kind, Arrival: arrival, Steps: int(length * float64(workload.UsualSteps(kind))), Batch: batch,
		GPUMemory: "3Gi", Metric: "loss:min", Progress: "socket", CPU: request, Seed: uint32(i + 1), Further: early,
	}
}

// Repeated is the n-th repeat, from 1 on: the same jobs at the same times, which draw other weights and other data. Who has seen
// one repeat has not seen the next.
func (s Schedule) Repeated(n int) Schedule {
	repeated := Schedule{Name: s.Name, Jobs: slices.Clone(s.Jobs)}
	for i := range repeated.Jobs {
		repeated.Jobs[i].Seed += uint32(100 * (n - 1))
	}
	return repeated
}

// Quick is the schedule with an eighth of the steps, arriving four times as fast.
func (s Schedule) Quick() Schedule {
	quick := Schedule{Name: s.Name, Jobs: slices.Clone(s.Jobs)}
	for i := range quick.Jobs {
		quick.Jobs[i].Steps /= 8
		quick.Jobs[i].Arrival = (quick.Jobs[i].Arrival / 4).Round(time.Second)
	}
	return quick
}
