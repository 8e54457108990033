package advise_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/goodput"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// noisy is a job whose gradients are noisy at its batch size of 64, so that a larger one pays.
func noisy(uid growth.PodUID, options ...func(*history.Job)) history.Job {
	j := job(uid, 1, 1)
	size := 64
	j.Sample.Tunable, j.Sample.BatchSize = []string{"batch-size"}, &size
	known := goodput.State{Range: goodput.Range{Default: 64, Min: 16, Max: 512, Rule: goodput.Linear}, MemoryLimit: 8192}
	for range 20 {
		known.Noise = known.Noise.Add(goodput.Comparison{Count: 1, Small: 64, SmallSquared: 101, Large: 128, LargeSquared: 51})
	}
	for range 4 {
		known = known.Observe(64, .1, 1000)
	}
	j.Sample.Batch = &known
	for _, option := range options {
		option(&j)
	}
	return j
}

func advisedBatch(size int) func(*history.Job) {
	return func(j *history.Job) {
		j.Advice = &bus.Advice{Header: bus.Header{Version: 1}, Generation: 5, BatchSize: &size}
		j.AdviceRevision = 7
	}
}

func TestDecide_AdvisesBatchSizes(t *testing.T) {
	known := func(change func(*bus.Sample)) func(*history.Job) { return func(j *history.Job) { change(j.Sample) } }
	for name, tc := range map[string]struct {
		jobs []history.Job
		want map[growth.PodUID]int
	}{
		"twice the size at most":        {[]history.Job{noisy("a")}, map[growth.PodUID]int{"a": 128}},
		"not permitted":                 {[]history.Job{noisy("a", known(func(s *bus.Sample) { s.Tunable = []string{"cpu"} }))}, nil},
		"no range":                      {[]history.Job{noisy("a", known(func(s *bus.Sample) { s.Batch = nil }))}, nil},
		"pods that change apart":        {[]history.Job{noisy("a", known(func(s *bus.Sample) { s.WorldSize, s.Ranks = 4, 2 }))}, nil},
		"a size is tried on its GPU":    {[]history.Job{noisy("a"), noisy("b", known(func(s *bus.Sample) { s.Batch.Trying = true }))}, nil},
		"one job of a GPU at a time":    {[]history.Job{noisy("a"), noisy("b")}, map[growth.PodUID]int{"a": 128}},
		"jobs of other GPUs":            {[]history.Job{noisy("a"), noisy("b", known(func(s *bus.Sample) { s.GPUs = []growth.GPU{"GPU-1"} }))}, map[growth.PodUID]int{"a": 128, "b": 128}},
		"the advice is not decided yet": {[]history.Job{noisy("a", advisedBatch(96))}, nil},
		"the advice was rolled back": {[]history.Job{noisy("a", advisedBatch(128), known(func(s *bus.Sample) { s.Batch.RejectedFrom = 128 }))},
			map[growth.PodUID]int{"a": 96}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[growth.PodUID]int{}
			for _, change := range new(advise.Adviser).Decide(oneCore(tc.jobs...), start) {
				require.NotNil(t, change.Advice.BatchSize)
				got[change.Job] = *change.Advice.BatchSize
				require.Regexp(t, `^\d+ % more goodput predicted; a step .* samples$`, change.Advice.BatchReason)
			}
			require.Len(t, got, len(tc.want))
			for uid, size := range tc.want {
				require.Equal(t, size, got[uid])
			}
		})
	}
}
