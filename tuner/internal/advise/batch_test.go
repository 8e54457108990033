package advise_test

import (
	"testing"
	"time"

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
		known.Noise = known.Noise.Add(goodput.Comparison{Small: 64, SmallSquared: 101, Large: 128, LargeSquared: 51})
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

func on(gpus ...growth.GPU) func(*history.Job) {
	return func(j *history.Job) { j.Sample.GPUs = gpus }
}

func TestDecide_AdvisesBatchSizes(t *testing.T) {
	known := func(change func(*bus.Sample)) func(*history.Job) { return func(j *history.Job) { change(j.Sample) } }
	for name, tc := range map[string]struct {
		jobs []history.Job
		want map[growth.PodUID]int
	}{
		"twice the size at most":              {[]history.Job{noisy("a")}, map[growth.PodUID]int{"a": 128}},
		"not permitted":                       {[]history.Job{noisy("a", known(func(s *bus.Sample) { s.Tunable = []string{"cpu"} }))}, nil},
		"no range":                            {[]history.Job{noisy("a", known(func(s *bus.Sample) { s.Batch = nil }))}, nil},
		"pods that change apart":              {[]history.Job{noisy("a", known(func(s *bus.Sample) { s.WorldSize, s.Ranks = 4, 2 }))}, nil},
		"a size is tried on its GPU":          {[]history.Job{noisy("a"), noisy("b", known(func(s *bus.Sample) { s.Batch.Trying = true }))}, nil},
		"one job of a GPU at a time":          {[]history.Job{noisy("a"), noisy("b")}, map[growth.PodUID]int{"a": 128}},
		"jobs of other GPUs":                  {[]history.Job{noisy("a"), noisy("b", known(func(s *bus.Sample) { s.GPUs = []growth.GPU{"GPU-1"} }))}, map[growth.PodUID]int{"a": 128, "b": 128}},
		"jobs on connected GPUs":              {[]history.Job{noisy("a", on("GPU-0", "GPU-1")), noisy("b", on("GPU-1"))}, map[growth.PodUID]int{"a": 128}},
		"a size is tried on a GPU of the job": {[]history.Job{noisy("a", on("GPU-1")), noisy("b", on("GPU-0", "GPU-1"), known(func(s *bus.Sample) { s.Batch.Trying = true }))}, nil},
		"a job that is not tuned connects GPUs": {
			[]history.Job{noisy("a", on("GPU-0")), noisy("b", on("GPU-1")), noisy("c", on("GPU-0", "GPU-1"), known(func(s *bus.Sample) { s.Tunable = nil }))},
			map[growth.PodUID]int{"a": 128},
		},
		"jobs without a GPU":            {[]history.Job{noisy("a", on()), noisy("b", on())}, map[growth.PodUID]int{"a": 128, "b": 128}},
		"a size is offered on its GPU":  {[]history.Job{noisy("a"), noisy("b", advisedBatch(96))}, nil},
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

// A job may take an offered size at the end of an epoch, or never. Others wait for a while, and leave room for it afterwards.
func TestDecide_WaitsALimitedTimeForAJobToTakeItsSize(t *testing.T) {
	for name, tc := range map[string]struct {
		memory growth.MiB
		want   []growth.PodUID
	}{
		"memory for both":     {20_000, []growth.PodUID{"b"}},
		"memory for only one": {2_500, nil},
		"unknown memory":      {0, []growth.PodUID{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := oneCore(noisy("a", advisedBatch(128)), noisy("b"))
			s.Nodes[0].GPUs = &bus.NodeGPUs{GPUs: []bus.GPU{{UUID: "GPU-0", Memory: tc.memory}}}
			var a advise.Adviser
			advised := func(after time.Duration) (jobs []growth.PodUID) {
				for _, change := range a.Decide(s, start.Add(after)) {
					jobs = append(jobs, change.Job)
				}
				return jobs
			}
			require.Empty(t, advised(0))
			require.Empty(t, advised(14*time.Minute))
			require.Equal(t, tc.want, advised(15*time.Minute))
			*s.Jobs[0].Advice.BatchSize = 96
			require.Empty(t, advised(16*time.Minute), "another size is offered")
			require.Equal(t, tc.want, advised(31*time.Minute))
		})
	}
}

// A job goes back to its size at the end of an epoch, or never. Others wait as long as for one that is offered a size, and leave room for both.
func TestDecide_WaitsALimitedTimeForAJobToGoBack(t *testing.T) {
	for name, tc := range map[string]struct {
		from   int // 128 is tried
		memory growth.MiB
		leads  bool // only since the job tries its size
		want   []growth.PodUID
	}{
		"memory for both":                    {64, 20_000, false, []growth.PodUID{"b"}},
		"memory for only one":                {64, 2_500, false, nil},
		"unknown memory":                     {64, 0, false, []growth.PodUID{"b"}},
		"memory until it goes back":          {256, 3_500, false, nil},
		"memory for both, from a larger one": {256, 20_000, false, []growth.PodUID{"b"}},
		"a new leader":                       {64, 20_000, true, []growth.PodUID{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := oneCore(noisy("a", advisedBatch(128)), noisy("b"))
			s.Nodes[0].GPUs = &bus.NodeGPUs{GPUs: []bus.GPU{{UUID: "GPU-0", Memory: tc.memory}}}
			job := s.Jobs[0].Sample
			for range 4 {
				*job.Batch = job.Batch.Observe(128, .15, 1100).Observe(256, .25, 3000)
			}
			var a advise.Adviser
			advised := func(at time.Duration, size int, trying bool) (jobs []growth.PodUID) {
				*job.BatchSize, job.Batch.Trying = size, trying
				for _, change := range a.Decide(s, start.Add(at)) {
					jobs = append(jobs, change.Job)
				}
				return jobs
			}
			for _, begin := range []time.Duration{0, time.Hour} {
				require.Empty(t, advised(begin-10*time.Minute, tc.from, false), "the size is offered")
				if tc.leads {
					a.Begin()
				}
				require.Empty(t, advised(begin, 128, true))
				require.Empty(t, advised(begin+14*time.Minute, 128, true))
				require.Equal(t, tc.want, advised(begin+15*time.Minute, 128, true))
			}
		})
	}
}

// A job on two GPUs needs its memory on each of them.
func TestDecide_ChecksTheMemoryOfEachGPU(t *testing.T) {
	for memory, want := range map[growth.MiB][]growth.PodUID{20_000: {"a"}, 3_500: {"a"}, 2_000: nil} {
		s := oneCore(noisy("a", on("GPU-0", "GPU-1")), noisy("b", on("GPU-1")))
		s.Nodes[0].GPUs = &bus.NodeGPUs{GPUs: []bus.GPU{{UUID: "GPU-0", Memory: 20_000}, {UUID: "GPU-1", Memory: memory}}}
		var got []growth.PodUID
		for _, change := range new(advise.Adviser).Decide(s, start) {
			got = append(got, change.Job)
		}
		require.Equal(t, want, got, "%d MiB", memory)
	}
}
