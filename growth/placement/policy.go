package placement

import (
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Policy says what a GPU is worth to a job that would hold memory on it and on count GPUs in all. Only GPUs with room
// are asked about.
type Policy interface {
	Worth(g GPU, memory growth.MiB, count int) Score
}

// New is the growth of a job that has just begun.
const New growth.Growth = 1

// Contention is the slowdown that one fully active job adds to another on the same GPU: the prior until interference is
// learned. The pairs that IADeep published (SC'23) add 0.62 to each other's step times in sum, leaving out one corrupt
// row, so each of the two pays about 0.3. 1 would be time slicing between jobs that never wait.
const Contention = 0.3

// Named returns the policy of that name: growth, binpack or spread.
func Named(name string) (Policy, error) {
	switch name {
	case "growth":
		return MarginalGrowth{Contention: Contention}, nil
	case "binpack":
		return Binpack{}, nil
	case "spread":
		return Spread{}, nil
	}
	return nil, fmt.Errorf("policy %q is none of growth, binpack, spread", name)
}

// MarginalGrowth prefers the GPU where the sum of all growth gains most.
type MarginalGrowth struct {
	// Contention is the slowdown that one fully active neighbour adds.
	Contention float64
}

// Worth is the change of the total growth, times count: the mean over the GPUs of a job is then the change it makes.
func (p MarginalGrowth) Worth(g GPU, _ growth.MiB, count int) Score {
	newcomer := Resident{Growth: part(New, count), Activity: 1}
	var crowd growth.Share
	for _, r := range g.Residents {
		crowd += r.Activity
	}
	change := float64(newcomer.Growth) / p.slowdown(crowd)
	for _, r := range g.Residents {
		others := crowd - r.Activity
		change -= float64(r.Growth) * (1/p.slowdown(others) - 1/p.slowdown(others+newcomer.Activity))
	}
	return Score(change * float64(count))
}

func (p MarginalGrowth) slowdown(others growth.Share) float64 {
	return 1 + p.Contention*float64(others)
}

// Binpack prefers the GPU that is fullest afterwards.
type Binpack struct{}

// Worth is the used part of the GPU with the job on it.
func (Binpack) Worth(g GPU, memory growth.MiB, _ int) Score {
	return Score(float64(g.Used()+memory) / float64(g.Memory))
}

// Spread prefers the GPU that is emptiest afterwards.
type Spread struct{}

// Worth is the free part of the GPU with the job on it.
func (Spread) Worth(g GPU, memory growth.MiB, _ int) Score {
	return Score(float64(g.Free()-memory) / float64(g.Memory))
}

// Score is how good a place is: 1 is the best there can be, 0 and below not worth taking while there is another.
type Score float64

// Points is the score in the extender API's range, 0..10.
func (s Score) Points() int64 { return int64(math.Round(10 * float64(s.known()))) }

// known takes what is not a number for the worst, so that scores have an order.
func (s Score) known() Score {
	if s != s {
		return 0
	}
	return min(1, max(0, s))
}
