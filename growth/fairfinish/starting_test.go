package fairfinish_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// measuredOnGPU is a job on a GPU whose turns are measured.
func measuredOnGPU(id growth.PodUID, work, used, waited float64) fairfinish.Job {
	left := remaining.Exact(growth.Work(work - used))
	left.Unit = growth.GPUSecond
	return fairfinish.Job{
		ID: id, On: []growth.GPU{"gpu"}, Used: growth.Work(used), CPUWait: growth.Seconds(waited), CPUWaitKnown: true,
		Remaining: left, ToTarget: left, Deadline: fairfinish.UserDeadline{Work: remaining.Estimate{Unit: growth.GPUSecond}},
	}
}

// A job of 40 GPU-seconds computes alone for 10 s. Then another arrives and loads its program for some time.
func TestDecide_JobsThatLoadHaveNoPartOfAGPU(t *testing.T) {
	c := config(fairfinish.Finish, 1)
	c.Unit = growth.GPUSecond
	began := func(change func(*fairfinish.Job)) fairfinish.State {
		s, _ := fairfinish.Decide(c, fairfinish.State{}, at(0), []fairfinish.Job{measuredOnGPU("first", 40, 0, 0)})
		s, _ = fairfinish.Decide(c, s, at(1), []fairfinish.Job{measuredOnGPU("first", 40, 1, 0)})
		second := measuredOnGPU("second", 100, 0, 0)
		change(&second)
		s, _ = fairfinish.Decide(c, s, at(11), []fairfinish.Job{measuredOnGPU("first", 40, 11, 0), second})
		return s
	}
	fair := func(s fairfinish.State, id growth.PodUID) float64 { return float64(s.Accounts[id].FairWork) }
	loading := began(func(*fairfinish.Job) {})

	t.Run("while it loads", func(t *testing.T) {
		s, d := fairfinish.Decide(c, loading, at(21), []fairfinish.Job{measuredOnGPU("first", 40, 21, 0), measuredOnGPU("second", 100, 0, 0)})
		require.InDelta(t, 21, fair(s, "first"), 1.1, "its own start is unknown for a moment")
		require.Zero(t, fair(s, "second"))
		require.InDelta(t, 2*(40-fair(s, "first")), float64(d.Grants[0].FairFinish), 0.01, "a forecast lets it start at once")
	})
	t.Run("when it has started", func(t *testing.T) {
		jobs := []fairfinish.Job{measuredOnGPU("first", 40, 19, 2), measuredOnGPU("second", 100, 2, 2)}
		s, _ := fairfinish.Decide(c, loading, at(21), jobs)
		require.InDelta(t, 2, fair(s, "second"), 0.01, "4 s ago, and fair sharing has given it half of them")

		stored, err := json.Marshal(loading)
		require.NoError(t, err)
		var restored fairfinish.State
		require.NoError(t, json.Unmarshal(stored, &restored))
		again, _ := fairfinish.Decide(c, restored, at(21), jobs)
		require.Equal(t, s.Accounts, again.Accounts, "a new coordinator continues")
	})
	for name, change := range map[string]func(*fairfinish.Job){
		"a job whose waits are not known":   func(j *fairfinish.Job) { j.CPUWaitKnown = false },
		"one that has used its GPU before":  func(j *fairfinish.Job) { j.Used = 5 },
		"one that has waited for it before": func(j *fairfinish.Job) { j.CPUWait = 5 },
	} {
		t.Run(name+" has started", func(t *testing.T) {
			second := measuredOnGPU("second", 100, 0, 0)
			change(&second)
			s, _ := fairfinish.Decide(c, began(change), at(21), []fairfinish.Job{measuredOnGPU("first", 40, 16, 5), second})
			require.Positive(t, fair(s, "second"))
		})
	}
}

// loader is a job that loads its program before it computes. Times are in seconds.
type loader struct{ arrival, loading, work, done, waited, end float64 }

func (l loader) computes(now float64) bool { return l.end == 0 && now >= l.arrival+l.loading }

// play serves loaders on one GPU, in slices of 50 ms, until all have ended. decide returns their shares; nil shares equally.
func play(jobs []loader, decide func(now float64, jobs []loader) (map[int]float64, float64)) []loader {
	const slice = 0.05
	jobs = append([]loader(nil), jobs...)
	next, shares := 0.0, map[int]float64(nil)
	for now, left := 0.0, len(jobs); left > 0; now += slice {
		for i := range jobs {
			if at := jobs[i].arrival; at <= now && at > now-slice || jobs[i].end > now-slice {
				next = now
			}
		}
		if decide != nil && now >= next {
			var in float64
			shares, in = decide(now, jobs)
			next = now + in
		}
		sum := 0.0
		for i := range jobs {
			if jobs[i].computes(now) {
				sum += share(shares, i)
			}
		}
		for i := range jobs {
			j := &jobs[i]
			if !j.computes(now) {
				continue
			}
			part := share(shares, i) / sum
			j.done, j.waited = j.done+slice*part, j.waited+slice*(1-part)
			if j.done >= j.work {
				j.end = now + slice
				left--
			}
		}
	}
	return jobs
}

// share is a job's weight among those that compute: equal weights without shares. One that is to have nothing gets what others leave.
func share(shares map[int]float64, i int) float64 {
	if shares == nil {
		return 1
	}
	return max(shares[i], 1e-6)
}

// With exact sizes, jobs that load for a while end no later than by plain sharing, in which those that load have no part.
func TestDecide_JobsThatLoadDelayNoOther(t *testing.T) {
	worst, before, after := 0.0, 0.0, 0.0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		jobs := make([]loader, 8)
		for i := range jobs {
			jobs[i] = loader{arrival: 40 * rng.Float64(), loading: 4 + 6*rng.Float64(), work: 5 + 20*rng.Float64()}
		}
		plain := play(jobs, nil)
		c := fairfinish.Config{Interval: 5 * time.Second, Objective: fairfinish.Finish, Floor: fairfinish.DefaultFloor, Cores: growth.Core, Unit: growth.GPUSecond}
		var s fairfinish.State
		served := play(jobs, func(now float64, jobs []loader) (map[int]float64, float64) {
			var here []fairfinish.Job
			for i, j := range jobs {
				if now < j.arrival {
					continue
				}
				measured := measuredOnGPU(growth.PodUID(strconv.Itoa(i)), j.work, min(j.done, j.work), j.waited)
				measured.Finished = j.end > 0
				here = append(here, measured)
			}
			var d fairfinish.Decision
			s, d = fairfinish.Decide(c, s, at(now), here)
			shares := map[int]float64{}
			for _, g := range d.Grants {
				i, _ := strconv.Atoi(string(g.ID))
				shares[i] = float64(g.Share)
			}
			return shares, d.Next.Seconds()
		})
		for i := range jobs {
			before += plain[i].end - plain[i].arrival
			after += served[i].end - served[i].arrival
			worst = max(worst, (served[i].end-served[i].arrival)/(plain[i].end-plain[i].arrival))
		}
	}
	t.Logf("the latest job takes %.3f of its time, the mean one %.3f", worst, after/before)
	require.Less(t, worst, 1.02)
	require.Less(t, after, 0.7*before)
}
