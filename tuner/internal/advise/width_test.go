package advise_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

func TestDecide_RecommendsWorkers(t *testing.T) {
	a := advise.Adviser{Policy: loader.DefaultChangePolicy(), Resources: memory(1024)}
	s := oneCore(job("a", .9, 0, func(j *history.Job) {
		j.Sample.Elastic = &elastic.Range{Low: 1, High: 4}
		j.Sample.SamplesPerSecond = 100
		j.Sample.Tunable = []string{"cpu"}
		j.Sample.ETA = &bus.ETA{ETA: gpushare.ETA{Likely: start.Add(2 * time.Hour)}}
	}))
	changes := a.Decide(s, start)
	require.Len(t, changes, 1)
	width := changes[0].Advice.Width
	require.Equal(t, 2, width.Workers)
	require.Equal(t, 1, width.From)
	require.Equal(t, 1, width.Changes)
	require.Contains(t, width.Reason, "1 → 2 workers: the job is expected to end")

	s.Jobs[0].Advice = changes[0].Advice
	require.Empty(t, a.Decide(s, start.Add(2*time.Minute)), "the same number again")
	s.Jobs[0].Advice.Width.Changes = elastic.MaxChanges
	require.Empty(t, a.Decide(s, start.Add(4*time.Minute)), "it stays, though it was the last one")
}

func TestDecide_WithdrawsANumberOfWorkers(t *testing.T) {
	wide := func(left time.Duration, last *bus.Width) *history.Snapshot {
		return oneCore(job("a", .9, 0, func(j *history.Job) {
			j.Sample.Elastic = &elastic.Range{Low: 1, High: 4}
			j.Sample.SamplesPerSecond = 100
			j.Sample.Tunable = []string{"cpu"}
			j.Sample.ETA = &bus.ETA{ETA: gpushare.ETA{Likely: start.Add(left)}}
			j.Advice = &bus.Advice{Width: last}
		}))
	}
	advised := &bus.Width{Recommendation: elastic.Recommendation{Workers: 2, From: 1, Reason: "1 → 2 workers"}, Changes: 1}
	for name, tc := range map[string]struct {
		left time.Duration
		last *bus.Width
		want *bus.Width
	}{
		"a job with little time left":      {time.Minute, advised, &bus.Width{Changes: 1}},
		"the same gain, nothing advised":   {390 * time.Second, nil, nil},
		"already withdrawn":                {time.Minute, &bus.Width{Changes: 1}, &bus.Width{Changes: 1}},
		"advice of the release before":     {time.Minute, &bus.Width{Recommendation: elastic.Recommendation{Workers: 2}, Changes: 1}, &bus.Width{Changes: 1}},
		"advice for two workers, of one":   {time.Minute, &bus.Width{Recommendation: elastic.Recommendation{Workers: 4, From: 2}, Changes: 2}, &bus.Width{Changes: 2}},
		"a gain that has become too small": {390 * time.Second, advised, advised},
	} {
		t.Run(name, func(t *testing.T) {
			a := advise.Adviser{Policy: loader.DefaultChangePolicy(), Resources: memory(1024)}
			changes := a.Decide(wide(tc.left, tc.last), start) // its resources are recommended too
			require.Len(t, changes, 1)
			require.Equal(t, tc.want, changes[0].Advice.Width)
		})
	}
}

// TestDecide_KeepsANumberOfWorkers: a number that comes and goes with the expected end would use up the changes of the job.
func TestDecide_KeepsANumberOfWorkers(t *testing.T) {
	ends := &bus.ETA{ETA: gpushare.ETA{Likely: start.Add(9 * time.Hour)}}
	with := func(change func(*bus.Sample)) func(*bus.Sample) {
		return func(s *bus.Sample) {
			s.ETA = ends
			change(s)
		}
	}
	for name, interrupted := range map[string]func(*bus.Sample){
		"an unknown end":                       func(s *bus.Sample) { s.ETA = nil },
		"a paused job":                         with(func(s *bus.Sample) { s.Paused = bus.PauseComplete }),
		"a paused job that is about to end":    with(func(s *bus.Sample) { s.Paused, s.ETA = bus.PauseComplete, &bus.ETA{ETA: gpushare.ETA{Likely: start}} }),
		"one worker less for a moment":         with(func(s *bus.Sample) { s.WorldSize = 3 }),
		"a restart that costs more, meanwhile": func(s *bus.Sample) { s.ETA = &bus.ETA{ETA: gpushare.ETA{Likely: start}} },
	} {
		t.Run(name, func(t *testing.T) {
			a := advise.Adviser{Policy: loader.DefaultChangePolicy(), Resources: memory(1024)}
			s := oneCore(job("a", .9, 0, func(j *history.Job) {
				j.Sample.Elastic = &elastic.Range{Low: 1, High: 4}
				j.Sample.SamplesPerSecond = 100
				j.Sample.Tunable = []string{"cpu"}
			}))
			now := start
			decide := func(change func(*bus.Sample)) {
				sample := *s.Jobs[0].Sample
				change(&sample)
				s.Jobs[0].Sample = &sample
				for _, c := range a.Decide(s, now) {
					s.Jobs[0].Advice = c.Advice
				}
				now = now.Add(2 * time.Minute)
				sample.Paused, sample.WorldSize = "", 0
			}
			for range 3 {
				decide(with(func(*bus.Sample) {}))
				require.Equal(t, 2, s.Jobs[0].Advice.Width.Workers)
				require.Equal(t, 1, s.Jobs[0].Advice.Width.Changes)
				decide(interrupted)
			}
		})
	}
}

// TestDecide_WithdrawsANumberThatNoLongerFits: without an expected end, a number stays only for the workers and the range that it was given for.
func TestDecide_WithdrawsANumberThatNoLongerFits(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*bus.Sample)
		want   int
	}{
		"the same workers and range": {func(*bus.Sample) {}, 2},
		"another number of workers":  {func(s *bus.Sample) { s.WorldSize = 3 }, 0},
		"a smaller range":            {func(s *bus.Sample) { s.Elastic = &elastic.Range{Low: 1, High: 1} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := advise.Adviser{Policy: loader.DefaultChangePolicy(), Resources: memory(1024)}
			s := oneCore(job("a", .9, 0, func(j *history.Job) {
				j.Sample.Elastic = &elastic.Range{Low: 1, High: 4}
				j.Sample.SamplesPerSecond = 100
				j.Sample.Tunable = []string{"cpu"}
				j.Advice = &bus.Advice{Width: &bus.Width{Recommendation: elastic.Recommendation{Workers: 2, From: 1}, Changes: 1}}
				tc.change(j.Sample)
			}))
			changes := a.Decide(s, start) // its resources are recommended too
			require.Len(t, changes, 1)
			require.Equal(t, tc.want, changes[0].Advice.Width.Workers)
			require.Equal(t, 1, changes[0].Advice.Width.Changes)
		})
	}
}

// TestDecide_RecommendsWorkersOnceTheEndIsKnown: the first estimate of the end comes a minute after the job.
func TestDecide_RecommendsWorkersOnceTheEndIsKnown(t *testing.T) {
	a := advise.Adviser{Policy: loader.DefaultChangePolicy(), Resources: memory(1024)}
	s := oneCore(job("a", .9, 0, func(j *history.Job) {
		j.Sample.Elastic = &elastic.Range{Low: 1, High: 2}
		j.Sample.SamplesPerSecond = 100
		j.Sample.Tunable = []string{"workers"}
	}))
	for _, c := range a.Decide(s, start) {
		s.Jobs[0].Advice = c.Advice
	}
	require.Nil(t, s.Jobs[0].Advice.Width)
	require.Empty(t, a.Decide(s, start.Add(2*time.Second)))
	s.Jobs[0].Sample.ETA = &bus.ETA{ETA: gpushare.ETA{Likely: start.Add(2 * time.Hour)}}
	changes := a.Decide(s, start.Add(4*time.Second))
	require.Len(t, changes, 1)
	require.Equal(t, 2, changes[0].Advice.Width.Workers)
}

// TestDecide_RecommendsWorkersForTheNumberThatAJobHas: a recommendation names the number that it was made for, and the owner of the job may
// have another.
func TestDecide_RecommendsWorkersForTheNumberThatAJobHas(t *testing.T) {
	pod := func(uid growth.PodUID, worldSize int, options ...func(*history.Job)) history.Job {
		return job(uid, .9, 0, append([]func(*history.Job){rankOf("g", worldSize, "n1"), func(j *history.Job) {
			j.Sample.Elastic = &elastic.Range{Low: 3, High: 4}
			j.Sample.Tunable = []string{"workers"}
			j.Sample.SamplesPerSecond = 100
			j.Sample.ETA = &bus.ETA{ETA: gpushare.ETA{Likely: start.Add(2 * time.Hour)}}
		}}, options...)...)
	}
	unmeasured := func(j *history.Job) { j.Measurements, j.Sample.SamplesPerSecond = nil, 0 }
	rejected := func(j *history.Job) { j.Sample.SamplesPerSecond = -1 }
	advised := func(j *history.Job) {
		j.Advice = &bus.Advice{Width: &bus.Width{Recommendation: elastic.Recommendation{Workers: 3, From: 1}, Changes: 1}}
	}
	for name, tc := range map[string]struct {
		jobs []history.Job
		from int // 0 for no recommendation
	}{
		"one pod":                                 {[]history.Job{pod("a", 0)}, 1},
		"without a sample rate, as jobs scale":    {[]history.Job{pod("a", 0, unmeasured)}, 1},
		"an invalid sample rate":                  {[]history.Job{pod("a", 0, rejected)}, 1},
		"one of two pods, which name a size":      {[]history.Job{pod("a", 2), pod("b", 2)}, 2},
		"the other is not on the bus":             {[]history.Job{pod("a", 2)}, 2},
		"two pods that name none":                 {[]history.Job{pod("a", 0), pod("b", 0)}, 0},
		"two pods that name none, earlier advice": {[]history.Job{pod("a", 0, advised), pod("b", 0)}, 0},
		"pods of two jobs":                        {[]history.Job{pod("a", 0), pod("b", 0, rankOf("h", 0, "n1"))}, 1},
		"pods without a job of several":           {[]history.Job{pod("a", 0, rankOf("", 0, "n1")), pod("b", 0, rankOf("", 0, "n1"))}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := advise.Adviser{Policy: loader.DefaultChangePolicy(), Resources: memory(1024)}
			changes := a.Decide(oneCore(tc.jobs...), start) // their resources are recommended too
			require.Len(t, changes, len(tc.jobs))
			width := changes[0].Advice.Width
			if tc.from == 0 {
				require.True(t, width == nil || width.Workers == 0, "%v", width)
				return
			}
			require.NotNil(t, width)
			require.Equal(t, []int{tc.from, 3}, []int{width.From, width.Workers})
		})
	}
}
