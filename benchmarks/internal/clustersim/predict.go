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

// Solo is a real job, with the time that it computed alone on a node. Times are in seconds.
type Solo struct {
	Kind             string
	Arrival, Seconds float64
	// Length is its number of steps relative to the usual one, from 0.1 to 1.5.
	Length float64
}

// Nodes are those on which real jobs run, as they were measured.
type Nodes struct {
	Number int `json:"number"`
	// Switching is the cost of a switch between jobs, as in Schedule.
	Switching float64 `json:"switching"`
	// Starting and Ending are the seconds of each job from its arrival until it computes, and from then on until it has ended. Other jobs of
	// its node compute meanwhile.
	Starting float64 `json:"startingSeconds"`
	Ending   float64 `json:"endingSeconds"`
}

// validate reports what no measurement of nodes that work can be.
func (n Nodes) validate() error {
	switch idle := max(n.Starting, n.Ending); {
	case n.Number < 1:
		return fmt.Errorf("%d nodes: give at least one", n.Number)
	case !(math.Abs(n.Switching) <= maxSwitching):
		return fmt.Errorf("a switch between jobs costs %.2f of a time slice: at most %.1f is possible", n.Switching, maxSwitching)
	case !(n.Starting >= 0 && n.Ending >= 0 && idle <= maxIdle):
		return fmt.Errorf("pods that start in %.0f s and end in %.0f s: from 0 to %.0f s is possible", n.Starting, n.Ending, float64(maxIdle))
	}
	return nil
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

// maxSwitching bounds the cost of a switch, and maxIdle the seconds in which a pod starts or ends.
const maxSwitching, maxIdle = 0.5, 60

// Predict simulates real jobs, in the order of their arrival, on workers that are as fast as the node on which they ran alone. A job can
// use a whole node. What is not known is drawn for each seed: which of equal workers a job is placed on, which recording its loss
// follows, and how far its length is off.
func Predict(ctx context.Context, jobs []Solo, nodes Nodes, seeds int) (Prediction, error) {
	return predict(ctx, jobs, nodes, [2]System{Systems()[0], shipped()}, seeds)
}

// PredictOn is Predict for jobs that both systems place on given nodes, by number from 0 in the order of the jobs. What is left to draw are
// the losses and lengths.
func PredictOn(ctx context.Context, jobs []Solo, nodes Nodes, placed [2][]int, seeds int) (Prediction, error) {
	systems := [2]System{Systems()[0], shipped()}
	for i, on := range placed {
		if len(on) == 0 || len(on) != len(jobs) || slices.Min(on) < 0 || slices.Max(on) >= nodes.Number {
			return Prediction{}, fmt.Errorf("%d jobs on nodes %v of %d: give each job one of the nodes", len(jobs), on, nodes.Number)
		}
		systems[i].place = func(c *cluster, j *job) { j.on = c.workers[on[j.Index]] }
	}
	return predict(ctx, jobs, nodes, systems, seeds)
}

func predict(ctx context.Context, jobs []Solo, nodes Nodes, systems [2]System, seeds int) (Prediction, error) {
	if len(jobs) == 0 || seeds < 1 {
		return Prediction{}, errors.New("a prediction needs jobs and seeds")
	}
	if err := nodes.validate(); err != nil {
		return Prediction{}, err
	}
	runs := make([][7]float64, seeds)
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				runs[i] = predictOnce(jobs, nodes, systems, uint64(i+1))
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

// predictOnce returns the figures of one seed, in the order of Prediction's. In the simulation a job arrives when it computes.
func predictOnce(jobs []Solo, nodes Nodes, systems [2]System, seed uint64) [7]float64 {
	s := Schedule{Name: "real", Workers: nodes.Number, Jobs: len(jobs), Switching: nodes.Switching}
	was := newCluster(s, systems[0], seed).run(realJobs(jobs, nodes.Starting, seed, 1))
	is := newCluster(s, systems[1], seed).run(realJobs(jobs, nodes.Starting, seed, 2))
	idle := nodes.Starting + nodes.Ending
	before, after, moves := idle, idle, 0
	for i := range jobs {
		before += was.ends[i] / float64(len(jobs))
		after += is.ends[i] / float64(len(jobs))
		moves += is.moves[i]
	}
	first, last := was.makespan+nodes.Ending, is.makespan+nodes.Ending
	return [7]float64{before, first, after, last, 100 * (after/before - 1), 100 * (last/first - 1), float64(moves)}
}

// realJobs returns the jobs of one run of a seed, which compute so many seconds after their arrival. Runs of a seed have the same losses
// and other lengths.
func realJobs(jobs []Solo, starting float64, seed, run uint64) []sim.Job {
	losses, lengths := rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, 3+run))
	all := make([]sim.Job, len(jobs))
	for i, j := range jobs {
		seconds := j.Seconds * max(0.5, 1+drift*lengths.NormFloat64())
		all[i] = sim.Recorded(j.Kind, losses.IntN(2), j.Length, sim.Job{
			Arrival: j.Arrival + starting,
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
