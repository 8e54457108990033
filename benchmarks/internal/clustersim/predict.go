package clustersim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
)

// Solo is a real job, with the time that it took alone on a node. Times are in seconds.
type Solo struct {
	Kind             string
	Arrival, Seconds float64
	// Length is its number of steps relative to the usual one, from 0.1 to 1.5.
	Length float64
}

// Range is what one run is expected to show: the median of the simulated runs, and the interval of 95 % of them.
type Range struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Contains reports whether a run is as expected.
func (r Range) Contains(value float64) bool { return r.Low <= value && value <= r.High }

// Prediction is what one run of real jobs is expected to show: seconds under both systems, and changes in per cent.
type Prediction struct {
	DefaultCompletion Range `json:"defaultCompletionSeconds"`
	DefaultMakespan   Range `json:"defaultMakespanSeconds"`
	TrellisCompletion Range `json:"trellisCompletionSeconds"`
	TrellisMakespan   Range `json:"trellisMakespanSeconds"`
	CompletionChange  Range `json:"completion"`
	MakespanChange    Range `json:"makespan"`
	Moves             Range `json:"moves"`
}

// drift is the relative deviation of a job's length from one run to the next: that of the real nodes, whose speed changes.
const drift = 0.05

// maxSwitching bounds the cost of a switch: more than this is no measurement of a node that works.
const maxSwitching = 0.5

// Predict simulates real jobs, in the order of their arrival, on workers that are as fast as the node on which they ran alone. A job can
// use a whole node. switching is the cost of a switch to another job, as in Schedule. What is not known is drawn for each seed: which
// of equal workers a job is placed on, which recording its loss follows, and how far its length is off.
func Predict(ctx context.Context, jobs []Solo, switching float64, workers, seeds int) (Prediction, error) {
	if len(jobs) == 0 || workers < 1 || seeds < 1 {
		return Prediction{}, errors.New("a prediction needs jobs, workers and seeds")
	}
	if !(math.Abs(switching) <= maxSwitching) {
		return Prediction{}, fmt.Errorf("a switch between jobs costs %.2f of a time slice: at most %.1f is possible", switching, maxSwitching)
	}
	s := Schedule{Name: "real", Workers: workers, Jobs: len(jobs), Switching: switching}
	runs := make([][7]float64, seeds)
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				runs[i] = predictOnce(s, jobs, uint64(i+1))
			}
		})
	}
	for i := range runs {
		if ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	wait.Wait()
	var p Prediction
	for i, to := range []*Range{
		&p.DefaultCompletion, &p.DefaultMakespan, &p.TrellisCompletion, &p.TrellisMakespan, &p.CompletionChange, &p.MakespanChange, &p.Moves,
	} {
		of := make([]float64, seeds)
		for k, run := range runs {
			of[k] = run[i]
		}
		*to = rangeOf(of)
	}
	return p, ctx.Err()
}

// predictOnce returns the figures of one seed, in the order of Prediction's.
func predictOnce(s Schedule, jobs []Solo, seed uint64) [7]float64 {
	was := newCluster(s, Systems()[0], seed).run(realJobs(jobs, seed, 1))
	c := newCluster(s, shipped(), seed)
	is := c.run(realJobs(jobs, seed, 2))
	before, after, moves := 0.0, 0.0, 0
	for i := range jobs {
		before += was.ends[i] / float64(len(jobs))
		after += is.ends[i] / float64(len(jobs))
		moves += is.moves[i]
	}
	return [7]float64{before, was.makespan, after, is.makespan, 100 * (after/before - 1), 100 * (is.makespan/was.makespan - 1), float64(moves)}
}

// realJobs returns the jobs of one run of a seed. Runs of a seed have the same losses and other lengths.
func realJobs(jobs []Solo, seed, run uint64) []sim.Job {
	losses, lengths := rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, 3+run))
	all := make([]sim.Job, len(jobs))
	for i, j := range jobs {
		seconds := j.Seconds * max(0.5, 1+drift*lengths.NormFloat64())
		all[i] = sim.Recorded(j.Kind, losses.IntN(2), j.Length, sim.Job{
			Arrival: j.Arrival,
			Work:    seconds * workerCores,
			Limit:   workerCores,
		})
	}
	return all
}

// rangeOf returns the median and the interval of 95 % of some values.
func rangeOf(values []float64) Range {
	sorted := slices.Sorted(slices.Values(values))
	at := func(part float64) float64 { return sorted[int(part*float64(len(sorted)-1)+0.5)] }
	return Range{Median: at(0.5), Low: at(0.025), High: at(0.975)}
}
