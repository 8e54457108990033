package advise_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// shared gives a job a /dev/shm of which each worker was seen to take perWorker.
func shared(size, perWorker growth.MiB) func(*history.Job) {
	return func(j *history.Job) {
		j.SharedMemory = &loader.SharedMemory{Size: size, Used: perWorker, PerWorker: perWorker, Observed: true}
	}
}

// unobserved gives a job a /dev/shm and no observed worker.
func unobserved(size growth.MiB) func(*history.Job) {
	return func(j *history.Job) { j.SharedMemory = &loader.SharedMemory{Size: size} }
}

// slow makes a job load ten times slower, so that it gains from many workers.
func slow(j *history.Job) {
	truth := loader.Model{Parallel: .1, Serial: 1e-4, Compute: .005}
	for i, m := range j.Measurements {
		rate := truth.Rate(m.Loaders)
		j.Measurements[i].Rate, j.Measurements[i].Waiting = rate, growth.Share(1-float64(rate)*float64(truth.Compute))
	}
}

// eightCores is a node with eight cores for loading.
func eightCores(jobs ...history.Job) *history.Snapshot { return withBudget(8, jobs...) }

// withBudget is a node with so many cores for loading.
func withBudget(cores int, jobs ...history.Job) *history.Snapshot {
	s := oneCore(jobs...)
	s.Nodes[0].Load.LoaderBudget = cores
	return s
}

func TestDecide_RespectsSharedMemory(t *testing.T) {
	for name, tc := range map[string]decideCase{
		"without a limit":             {eightCores(job("a", .9, 1, slow)), loaders{"a": 8}},
		"64 MiB and workers of 20":    {eightCores(job("a", .9, 1, slow, shared(64, 20))), loaders{"a": 2}},
		"a volume of 1 GiB":           {eightCores(job("a", .9, 1, slow, shared(1024, 20))), loaders{"a": 8}},
		"workers that do not use it":  {eightCores(job("a", .9, 1, slow, shared(64, 0))), loaders{"a": 8}},
		"cores go to the others":      {eightCores(job("a", .9, 1, slow, shared(64, 20)), job("b", .1, 1, slow)), loaders{"a": 2, "b": 6}},
		"before a worker is observed": {eightCores(job("a", .9, 0, slow, unobserved(2048))), loaders{"a": 6}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, loadersOf(decideLater(tc.snapshot))) })
	}
}

// decideLater returns the changes of an adviser that has seen the jobs with these workers for an hour.
func decideLater(s *history.Snapshot) []advise.Change {
	a := advise.Adviser{Policy: loader.DefaultChangePolicy()}
	a.Decide(s, start)
	return a.Decide(s, start.Add(time.Hour))
}

// TestDecide_ExplainsTheLimit shows the explanation: with a change, without one, and once.
func TestDecide_ExplainsTheLimit(t *testing.T) {
	const mount = ". To have more, mount an emptyDir volume with medium: Memory at /dev/shm"
	for name, tc := range map[string]struct {
		job  history.Job
		want *bus.Advice // without the reason; nil for no change
	}{
		"with a change": {
			job("a", .9, 1, slow, shared(64, 20)), &bus.Advice{
				Generation: 1, Loaders: new(2),
				Limit: "no more than 2, because another might not fit in /dev/shm, which has 64MiB; each takes up to 20MiB of it" + mount,
			},
		},
		"without a change": {
			job("a", .9, 1, slow, shared(64, 40)), &bus.Advice{
				Generation: 1,
				Limit:      "no more than 1, because another might not fit in /dev/shm, which has 64MiB; each takes up to 40MiB of it" + mount,
			},
		},
		"before a worker is observed": {
			job("a", .9, 0, slow, unobserved(64)), &bus.Advice{
				Generation: 1,
				Limit: "no more than 0, because another might not fit in /dev/shm, which has 64MiB; what a worker takes of it is not " +
					"known yet" + mount,
			},
		},
		"once": {
			job("a", .9, 1, slow, shared(64, 40), func(j *history.Job) { j.Advice = &bus.Advice{Generation: 3, Limit: "as said"} }), nil,
		},
		"after earlier advice": {
			job("a", .9, 1, slow, shared(64, 40), advised(4, 1)), &bus.Advice{
				Header: bus.Header{Version: 1}, Generation: 5, Loaders: new(1),
				Limit: "no more than 1, because another might not fit in /dev/shm, which has 64MiB; each takes up to 40MiB of it" + mount,
			},
		},
		"with advice on something else": {
			job("a", .9, 1, slow, shared(64, 40), func(j *history.Job) { j.Advice = &bus.Advice{Generation: 4, BatchSize: new(64), Reason: "why"} }),
			&bus.Advice{
				Generation: 5, BatchSize: new(64),
				Limit: "no more than 1, because another might not fit in /dev/shm, which has 64MiB; each takes up to 40MiB of it" + mount,
			},
		},
		"a job that gains nothing": {job("a", .9, 2, shared(64, 24)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			changes := decideLater(eightCores(tc.job))
			if tc.want == nil {
				require.Empty(t, changes)
				return
			}
			require.Len(t, changes, 1)
			got := *changes[0].Advice
			got.Reason = ""
			require.Equal(t, *tc.want, got)
		})
	}
	t.Run("no core is free", func(t *testing.T) {
		require.Empty(t, decideLater(oneCore(job("a", .9, 1, slow, shared(64, 40)))))
	})
}
