package loader_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

const tick growth.Seconds = 10

// using is an interval of one tick in which a job keeps a number of cores busy.
func using(cores float64, workers int) loader.Interval {
	return loader.Interval{Length: tick, Used: growth.Work(cores * float64(tick)), Workers: workers}
}

// saturated is the same interval on a node without idle CPUs.
func saturated(cores float64, workers int) loader.Interval {
	i := using(cores, workers)
	i.Saturated = true
	return i
}

func TestTraining_Cores(t *testing.T) {
	minutes := func(n int, i loader.Interval) []loader.Interval { return slices.Repeat([]loader.Interval{i}, 6*n) }
	for name, c := range map[string]struct {
		processes, threads int
		intervals          []loader.Interval
		idle, saturated    int // cores on a node with idle CPUs, and on one without
	}{
		"not measured, no thread pools":        {1, 0, nil, 1, 1},
		"not measured, four threads":           {1, 4, nil, 1, 4},
		"two processes with four threads each": {2, 4, nil, 2, 8},
		"four busy threads":                    {1, 4, minutes(2, using(4, 0)), 4, 4},
		"four busy undeclared threads":         {1, 0, minutes(2, using(3.9, 0)), 4, 4},
		"more busy threads than declared":      {1, 1, minutes(2, using(4, 0)), 4, 4},
		"eight threads that a GPU leaves idle": {1, 8, minutes(2, using(1, 0)), 1, 1},
		"workers are not training":             {1, 8, minutes(2, using(4, 3)), 1, 1},
		"threads and workers":                  {1, 8, minutes(2, using(7, 3)), 4, 4},
		"workers that wait":                    {1, 0, minutes(2, using(1.2, 3)), 1, 1},
		"a helper thread takes no core":        {2, 0, minutes(2, using(2.3, 0)), 2, 2},
		"two processes of which one is idle":   {2, 0, minutes(2, using(1, 0)), 2, 2},
		"contention hides the threads' use":    {1, 4, minutes(5, saturated(2, 4)), 1, 4},
		"contention shows some of their use":   {1, 4, minutes(5, saturated(6, 4)), 2, 4},
		"contention does not lower what is known": {
			1, 8, append(minutes(3, using(4, 0)), minutes(5, saturated(2, 4))...), 4, 4,
		},
		"contention raises what is known": {
			1, 0, append(minutes(3, using(1, 0)), minutes(5, saturated(6, 0))...), 6, 6,
		},
		"known use is not replaced by thread pools": {
			1, 8, append(minutes(3, using(1, 0)), minutes(5, saturated(1, 0))...), 1, 1,
		},
		"threads that end": {1, 4, append(minutes(3, using(4, 0)), minutes(5, using(1, 0))...), 1, 1},
		"one burst":        {1, 0, append(minutes(3, using(1, 0)), using(4, 0)), 1, 1},
		"invalid intervals": {1, 2, []loader.Interval{
			{Length: 0, Used: 9}, {Length: -1, Used: 9}, {Length: tick, Used: -9},
			{Length: growth.Seconds(math.NaN()), Used: 9}, {Length: tick, Used: growth.Work(math.NaN())},
		}, 1, 2},
		"a negative number of workers": {1, 0, minutes(2, using(2, -3)), 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			training := loader.Training{Processes: c.processes, Threads: c.threads}
			for _, i := range c.intervals {
				training.Use = training.Use.Add(i)
			}
			require.Equal(t, c.idle, training.Cores(false), "with idle CPUs")
			require.Equal(t, c.saturated, training.Cores(true), "saturated")
		})
	}
}

// A job never takes more cores than it uses and needs for its processes, nor fewer than its processes.
func FuzzTraining_CoresAreInBounds(f *testing.F) {
	f.Add(1, 4, 2.5, 3, true)
	f.Add(8, 0, 1e300, -1, false)
	f.Fuzz(func(t *testing.T, processes, threads int, used float64, workers int, full bool) {
		if processes < 0 || processes > 256 || threads < 0 || threads > 1024 || math.IsNaN(used) {
			t.Skip()
		}
		i := loader.Interval{Length: 10, Used: growth.Work(used), Workers: workers, Saturated: full}
		training := loader.Training{Processes: processes, Threads: threads, Use: loader.TrainingUse{}.Add(i).Add(i)}
		got := training.Cores(full)
		require.GreaterOrEqual(t, got, processes)
		require.LessOrEqual(t, float64(got), max(float64(processes*max(1, threads)), used/10+1))
	})
}

func TestCoresInTurns(t *testing.T) {
	job := func(threads int, cores float64) loader.Training {
		training := loader.Training{Processes: 1, Threads: threads}
		for range 18 {
			training.Use = training.Use.Add(using(cores, 0))
		}
		return training
	}
	fresh := loader.Training{Processes: 1, Threads: 4}
	for name, c := range map[string]struct {
		atOnce          int
		jobs            []loader.Training
		idle, saturated int
	}{
		"none":                   {0, nil, 0, 0},
		"ten jobs of one thread": {1, slices.Repeat([]loader.Training{job(1, .1)}, 10), 1, 1},
		"three that keep three cores busy in turns": {1, slices.Repeat([]loader.Training{job(4, 1)}, 3), 3, 3},
		"on two GPUs":                                {2, slices.Repeat([]loader.Training{job(1, .2)}, 4), 2, 2},
		"thread pools of one job at a time":          {1, []loader.Training{fresh, fresh, fresh}, 1, 4},
		"a job that is measured and one that is not": {1, []loader.Training{job(4, 2), fresh}, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.idle, loader.CoresInTurns(c.atOnce, c.jobs, false), "with idle CPUs")
			require.Equal(t, c.saturated, loader.CoresInTurns(c.atOnce, c.jobs, true), "saturated")
		})
	}
}
