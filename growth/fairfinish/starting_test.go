package fairfinish_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// measuredOnGPU is a job on a GPU whose turns are measured.
func measuredOnGPU(id growth.PodUID, work, used, waited float64) fairfinish.Job {
	j := (&task{work: work, target: work, loading: 1, done: used, waited: waited}).job(0)
	j.ID = id
	return j
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
		alone := 10.0
		require.InDelta(t, alone+2*(40-fair(s, "first")-alone), float64(d.Grants[0].FairFinish), 0.01, "a forecast has it load as long again")
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

// With exact sizes, jobs that load for a while end no later than by plain sharing, in which those that load have no part.
func TestDecide_JobsThatLoadDelayNoOther(t *testing.T) {
	c := config(fairfinish.Finish, 1)
	c.Unit, c.Interval = growth.GPUSecond, 5*time.Second
	worst, before, after := 0.0, 0.0, 0.0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		tasks := make([]task, 8)
		for i := range tasks {
			tasks[i] = task{arrival: 40 * rng.Float64(), loading: 4 + 6*rng.Float64(), work: 5 + 20*rng.Float64(), limit: 1, weight: 1}
		}
		plain, served := run(t, 1, tasks, fair), run(t, 1, tasks, harmless(t, c, false, nil))
		for i, k := range tasks {
			before += plain[i].end - k.arrival
			after += served[i].end - k.arrival
			worst = max(worst, (served[i].end-k.arrival)/(plain[i].end-k.arrival))
		}
	}
	t.Logf("the latest job takes %.3f of its time, the mean one %.3f", worst, after/before)
	require.Less(t, worst, 1.02)
	require.Less(t, after, 0.7*before)
}
