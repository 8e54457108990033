package fairfinish_test

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

var epoch = time.Unix(1_700_000_000, 0).UTC()

func at(seconds float64) time.Time { return epoch.Add(growth.Seconds(seconds).Duration()) }

// task is a job with its true size. Work is in core-seconds, times are in seconds. A task that loads its program is on a GPU, which it
// neither uses nor awaits before that is over; its work is in GPU-seconds.
type task struct {
	arrival, work, target, limit, weight float64
	loading                              float64
	done, waited, end                    float64
}

func (k *task) job(i int) fairfinish.Job {
	j := fairfinish.Job{
		ID: growth.PodUID("job-" + strconv.Itoa(i)), Used: growth.Work(k.done), Weight: k.weight, Limit: growth.MilliCPU(1000 * k.limit),
		Remaining: remaining.Exact(growth.Work(k.work - k.done)), ToTarget: remaining.Exact(growth.Work(max(0, k.target-k.done))),
		Finished: k.end > 0,
	}
	if k.loading > 0 {
		j.On, j.CPUWait, j.CPUWaitKnown = []growth.GPU{"gpu"}, growth.Seconds(k.waited), true
		j.Remaining.Unit, j.ToTarget.Unit, j.Deadline.Work.Unit = growth.GPUSecond, growth.GPUSecond, growth.GPUSecond
	}
	return j
}

// computes reports whether the task has loaded its program.
func (k *task) computes(now float64) bool { return now > k.arrival+k.loading-1e-9 }

// first returns the job with the largest share.
func first(d fairfinish.Decision) growth.PodUID {
	return slices.MaxFunc(d.Grants, func(a, b fairfinish.Grant) int { return cmp.Compare(a.Share, b.Share) }).ID
}

// split divides cores by weight in the straightforward way: at most the limit for each job, repeated until nothing is
// left over.
func split(cores float64, weights, limits []float64) []float64 {
	got := make([]float64, len(weights))
	for left := cores; left > 1e-12; {
		sum := 0.0
		for i := range got {
			if got[i] < limits[i] {
				sum += weights[i]
			}
		}
		if sum == 0 {
			break
		}
		given := 0.0
		for i := range got {
			if got[i] < limits[i] {
				more := min(left*weights[i]/sum, limits[i]-got[i])
				got[i] += more
				given += more
			}
		}
		left -= given
	}
	return got
}

// decider returns shares. It is called at each arrival, at each end, and after the time that it returned.
type decider func(now float64, jobs []fairfinish.Job) (shares []float64, next float64)

// run simulates a node that serves tasks by a decider's shares until all have ended.
func run(t *testing.T, cores float64, tasks []task, decide decider) []task {
	t.Helper()
	tasks = append([]task(nil), tasks...)
	now := 0.0
	for steps := 0; ; steps++ {
		require.Less(t, steps, 100_000, "the simulation does not end")
		var jobs []fairfinish.Job
		var here []int
		next := 1e18
		for i := range tasks {
			switch k := &tasks[i]; {
			case k.arrival > now+1e-9:
				next = min(next, k.arrival-now)
			default:
				jobs = append(jobs, k.job(i))
				if k.end == 0 {
					here = append(here, i)
				}
			}
		}
		if len(here) == 0 && next == 1e18 {
			return tasks
		}
		shares, soon := decide(now, jobs)
		next = min(next, soon)
		var limits []float64
		for k, i := range here {
			limits = append(limits, tasks[i].limit)
			switch {
			case !tasks[i].computes(now): // others get its part
				shares[k] = 0
				next = min(next, tasks[i].arrival+tasks[i].loading-now)
			case tasks[i].loading > 0: // it gets what others leave
				shares[k] = max(shares[k], 1e-6)
			}
		}
		rates := split(cores, shares, limits)
		for k, i := range here {
			next = min(next, (tasks[i].work-tasks[i].done)/rates[k])
		}
		for k, i := range here {
			if tasks[i].computes(now) {
				tasks[i].waited += (1 - rates[k]) * next
			}
		}
		now += next
		for k, i := range here {
			if tasks[i].done += rates[k] * next; tasks[i].done > tasks[i].work-1e-7 {
				tasks[i].end = now
			}
		}
	}
}

// fair implements weighted processor sharing.
func fair(now float64, jobs []fairfinish.Job) ([]float64, float64) {
	var shares []float64
	for _, j := range jobs {
		if !j.Finished {
			shares = append(shares, j.Weight)
		}
	}
	return shares, 1e18
}

// harmless implements the policy of this package. If restart is set, it encodes and decodes its state before each
// decision.
func harmless(t *testing.T, c fairfinish.Config, restart bool, watch func(fairfinish.Decision)) decider {
	var state fairfinish.State
	return func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
		if restart {
			text, err := json.Marshal(state)
			require.NoError(t, err)
			state = fairfinish.State{}
			require.NoError(t, json.Unmarshal(text, &state))
		}
		var d fairfinish.Decision
		state, d = fairfinish.Decide(c, state, at(now), jobs)
		if watch != nil {
			watch(d)
		}
		var shares []float64
		for _, g := range d.Grants {
			shares = append(shares, float64(g.Share))
		}
		return shares, d.Next.Seconds()
	}
}

// draw returns up to maxTasks tasks with random sizes, targets, weights and arrivals.
func draw(seed uint64, maxTasks int, cores float64, weighted bool) []task {
	rng := rand.New(rand.NewPCG(seed, 7))
	tasks := make([]task, 1+rng.IntN(maxTasks))
	for i := range tasks {
		k := task{
			arrival: float64(rng.IntN(300)),
			work:    1 + 200*rng.Float64(),
			weight:  1,
			limit:   cores,
		}
		if rng.IntN(3) == 0 {
			k.arrival = tasks[0].arrival // several at the same time
		}
		if rng.IntN(4) == 0 {
			k.work = 1 + float64(rng.IntN(4))*50
		}
		k.target = k.work * rng.Float64()
		if weighted {
			k.weight = float64(1 + rng.IntN(5))
		}
		if cores > 1 {
			k.limit = float64(1 + rng.IntN(int(cores)))
			k.work *= k.limit
		}
		tasks[i] = k
	}
	return tasks
}
