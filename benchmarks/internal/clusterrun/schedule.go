package clusterrun

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth"
)

const (
	// jobs is the number of jobs, and window the time within which they arrive: SpeCon's mixed schedules, shorter.
	jobs   = 12
	window = 100 * time.Second
	// batch halves the default, and so the time of a step.
	batch = 32
	// request lets all jobs fit on the nodes next to Trellis, in any combination.
	request growth.MilliCPU = 100
	memory                  = "1Gi"
)

// kinds are SpeCon's models; its dynamic RNN is an LSTM here.
func kinds() []string { return []string{"vae", "gru", "birnn", "rnn", "lstm"} }

// Schedule returns the jobs of a seed, in the order of their arrival. The lengths are 0.5 to 1.5 times half of the usual steps, so
// that the four phases take 20 minutes. The first job arrives at once.
func Schedule(seed uint64) workload.Workload {
	dice := rand.New(rand.NewPCG(seed, 0))
	all := make(workload.Workload, jobs)
	for i := range all {
		kind := kinds()[dice.IntN(len(kinds()))]
		all[i] = workload.Job{
			Kind:      kind,
			Arrival:   time.Duration(dice.Int64N(int64(window))).Round(time.Second),
			Steps:     int((0.25 + 0.5*dice.Float64()) * float64(workload.UsualSteps(kind))),
			Batch:     batch,
			GPUMemory: memory,
			Metric:    "loss:min",
			Progress:  "socket",
			CPU:       request,
			Seed:      uint32(i + 1),
			Further:   []string{"--learning-rate", "0.003"},
		}
	}
	slices.SortStableFunc(all, func(a, b workload.Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	first := all[0].Arrival
	for i := range all {
		all[i].Name = fmt.Sprintf("job-%d", i+1)
		all[i].Arrival -= first
	}
	return all
}

// Quick returns half of the jobs, with a fifth of their steps and of the times between them.
func Quick(all workload.Workload) workload.Workload {
	quick := slices.Clone(all[:len(all)/2])
	for i := range quick {
		quick[i].Steps = max(1, quick[i].Steps/5)
		quick[i].Arrival = (quick[i].Arrival / 5).Round(time.Second)
	}
	return quick
}
