package deadline_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
)

var never = growth.Seconds(math.Inf(1))

// job returns a job of which work, in seconds of the whole resource, is left, and that scales with the resource up to a limit.
func job(name string, work, resource, limit float64, toDeadline growth.Seconds) deadline.Job {
	at := func(name string, r float64) deadline.Option {
		return option(name, r, growth.Seconds(work/math.Min(r, limit)))
	}
	return deadline.Job{
		Name:       name,
		ToDeadline: toDeadline,
		Now:        at("now", resource),
		Options:    []deadline.Option{at("double", 2*resource), at("half", resource/2), at("quarter more", 1.25*resource)},
	}
}

func TestAdjust_FourCases(t *testing.T) {
	lateFast := job("fast", 40, 0.2, 1, 150) // 200 s; doubling gains 100 s for 0.2
	lateSlow := job("slow", 40, 0.2, 0.22, 150)
	early := job("early", 20, 0.2, 1, 1000)   // 100 s; halving costs 100 s
	relaxed := job("relaxed", 2, 0.2, 1, 100) // 10 s; halving costs 10 s
	tight := job("tight", 20, 0.2, 1, 101)    // halving would miss its deadline
	free := job("free", 20, 0.2, 1, never)
	for name, tc := range map[string]struct {
		load         growth.Share
		jobs         []deadline.Job
		want         deadline.Case
		grow, shrink []string
	}{
		"late jobs grow, the most sensitive first": {
			0.55, []deadline.Job{lateSlow, lateFast, early}, deadline.LateWithRoom, []string{"fast", "slow"}, nil,
		},
		"without room the least sensitive gives way": {
			0.56, []deadline.Job{lateFast, early, relaxed, tight}, deadline.LateWithoutRoom, []string{"fast"}, []string{"relaxed", "early"},
		},
		"a job without a deadline gives way too": {
			0.9, []deadline.Job{lateFast, free}, deadline.LateWithoutRoom, []string{"fast"}, []string{"free"},
		},
		"no job is late and the node is idle": {
			0.35, []deadline.Job{relaxed, early}, deadline.Idle, []string{"early", "relaxed"}, nil,
		},
		"no job is late":                        {0.6, []deadline.Job{early, relaxed}, deadline.Settled, nil, nil},
		"no job is late at the upper bound":     {0.70, []deadline.Job{early}, deadline.Settled, nil, nil},
		"no job is late and the node is full":   {0.71, []deadline.Job{early, relaxed, tight}, deadline.Full, nil, []string{"relaxed", "early"}},
		"a late job that cannot use more stays": {0.9, []deadline.Job{job("stuck", 40, 0.2, 0.2, 100)}, deadline.LateWithoutRoom, nil, nil},
		"no jobs":                               {0, nil, deadline.Idle, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := deadline.Adjust(deadline.PaperBands(), tc.load, tc.jobs)
			require.Equal(t, tc.want, got.Case)
			require.Equal(t, tc.grow, names(got.Grow))
			require.Equal(t, tc.shrink, names(got.Shrink))
		})
	}
}

func names(changes []deadline.Change) (names []string) {
	for _, c := range changes {
		names = append(names, c.Job.Name)
	}
	return names
}

// A late job takes the least with which it is in time. A job that gives way stays in time, and within the bound on its harm.
func TestAdjust_Sizes(t *testing.T) {
	late := job("late", 40, 0.2, 1, 170)
	got := deadline.Adjust(deadline.PaperBands(), 0.9, []deadline.Job{late, job("free", 20, 0.2, 1, never)})
	require.Equal(t, "quarter more", got.Grow[0].To.Name)
	require.Equal(t, "half", got.Shrink[0].To.Name)

	bounded := job("free", 20, 0.2, 1, never)
	bounded.Latest = 105
	got = deadline.Adjust(deadline.PaperBands(), 0.9, []deadline.Job{late, bounded})
	require.Empty(t, got.Shrink, "half would end at 200 s")
}

// No input makes it panic, grow a job to less or shrink one to more.
func TestAdjust_AnyInput(t *testing.T) {
	values := []float64{0, -1, 1, 0.2, 1e300, math.Inf(1), math.Inf(-1), math.NaN()}
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		any := func() float64 { return values[rng.IntN(len(values))] }
		anyOption := func() deadline.Option {
			o := option("o", any(), growth.Seconds(any()))
			o.Time.High = growth.Seconds(any())
			o.Restart = growth.Seconds(any())
			return o
		}
		jobs := make([]deadline.Job, rng.IntN(5))
		for i := range jobs {
			jobs[i] = deadline.Job{
				ToDeadline: growth.Seconds(any()),
				Latest:     growth.Seconds(any()),
				Now:        anyOption(),
				Options:    []deadline.Option{anyOption(), anyOption()},
			}
		}
		got := deadline.Adjust(deadline.PaperBands(), growth.Share(any()), jobs)
		for _, c := range got.Grow {
			require.Greater(t, c.To.Resource, c.Job.Now.Resource)
		}
		for _, c := range got.Shrink {
			require.Less(t, c.To.Resource, c.Job.Now.Resource)
		}
	}
}
