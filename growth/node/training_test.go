package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// consumers play jobs that each use a constant number of cores.
type consumers struct {
	*harness
	cores map[string]float64
	used  map[growth.PodUID]node.Usage
}

// arriveWith starts a job with thread pools of a size that keeps cores busy.
func (w *consumers) arriveWith(name string, threads int, cores float64) {
	w.apply(node.Pod{
		Ref: ref(name), Running: true, Threads: threads,
		Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
		Containers:  []node.Container{{Name: "train", Request: 500}},
	})
	w.allocate(name)
	w.cores[name] = cores
}

// run lets rounds pass and returns the budget for data-loader workers.
func (w *consumers) run(rounds int) int {
	for range rounds {
		w.now = w.now.Add(interval)
		for name, cores := range w.cores {
			u := w.used[uid(name)]
			u.CPUKnown = true
			u.CPU += growth.Seconds(cores * interval.Seconds())
			w.used[uid(name)] = u
		}
		w.step(node.Ticked{Usages: w.used})
	}
	return w.load.LoaderBudget
}

func TestLoad_LoaderBudgetCountsThreads(t *testing.T) {
	start := func(t *testing.T, test func(w *consumers)) {
		in(t, policy.FlowCon, func(_ *testing.T, h *harness) {
			h.step(node.CapacityChanged{CPU: 16 * growth.Core})
			test(&consumers{harness: h, cores: map[string]float64{}, used: map[growth.PodUID]node.Usage{}})
		})
	}
	loaders := func(w *consumers, name string, n int) {
		w.step(node.ProgressReported{
			Slot: "slot-" + name, Connection: 1, Source: gpushare.FromSocket, Progress: wire.Progress{Step: 1, Loaders: &n},
		})
	}
	t.Run("a process whose threads keep four cores busy takes four", func(t *testing.T) {
		start(t, func(w *consumers) {
			w.arriveWith("threads", 4, 4)
			require.Equal(t, 15, w.run(1), "nothing is measured yet")
			require.Equal(t, 12, w.run(12))
			w.cores["threads"] = 1
			require.Equal(t, 15, w.run(30), "its threads are idle now")
		})
	})
	t.Run("threads that wait for a GPU take none", func(t *testing.T) {
		start(t, func(w *consumers) {
			w.arriveWith("gpu", 16, 0.8)
			require.Equal(t, 15, w.run(12))
		})
	})
	t.Run("workers are in the budget", func(t *testing.T) {
		start(t, func(w *consumers) {
			w.arriveWith("loads", 0, 4)
			loaders(w, "loads", 3)
			require.Equal(t, 15, w.run(12))
		})
	})
	t.Run("data that a job loads in its training process is in the budget", func(t *testing.T) {
		start(t, func(w *consumers) {
			const steps = 10 // of a second, in each round
			w.arriveWith("alone", 0, 1.8)
			budget := 0
			for round := range int64(12) {
				w.step(node.ProgressReported{Slot: "slot-alone", Connection: 1, Source: gpushare.FromSocket, Progress: wire.Progress{
					Step: (round + 1) * steps, Steps: steps, StepSeconds: 1, LoadSeconds: .6, Loaders: new(int),
				}})
				budget = w.run(1)
			}
			require.Equal(t, 15, budget, "two cores without it")
		})
	})
	t.Run("the workers of a job that reads no advice are unknown", func(t *testing.T) {
		start(t, func(w *consumers) {
			w.arriveWith("silent", 0, 4)
			require.Equal(t, 12, w.run(12))
		})
	})
	t.Run("a saturated node hides what threads would use", func(t *testing.T) {
		start(t, func(w *consumers) {
			w.arriveWith("a", 4, 8)
			w.arriveWith("b", 4, 8)
			loaders(w, "a", 8)
			loaders(w, "b", 8)
			require.Equal(t, 8, w.run(12), "each has four threads and eight workers on eight cores")
		})
	})
	t.Run("threads on exclusive cores take none", func(t *testing.T) {
		start(t, func(w *consumers) {
			w.arriveWith("pinned", 4, 4)
			w.step(node.ExclusiveChanged{Cores: map[growth.PodUID]int{uid("pinned"): 4}})
			require.Equal(t, 12, w.run(12))
		})
	})
}
