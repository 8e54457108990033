package deadline_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
)

// sharer returns a job that needs some seconds of the whole resource.
func sharer(name string, share growth.Share, work, toDeadline growth.Seconds) deadline.Sharer {
	return deadline.Sharer{Name: name, Share: share, Work: deadline.Certain(work), Known: true, ToDeadline: toDeadline}
}

// Three jobs: with a third of the resource, late ends 40 s after its deadline, early far before, and small has little to lose.
func three(lateBy growth.Seconds) []deadline.Sharer {
	return []deadline.Sharer{
		sharer("late", 0.4, 40, 100-lateBy),
		sharer("early", 0.4, 40, 1000),
		sharer("small", 0.2, 2, 1000),
	}
}

// Each case, at both ends of its band: θ1 is 0.35, θ2 0.55 and θ3 0.70.
func TestDivide_CasesAndBands(t *testing.T) {
	late, inTime := three(20), three(-20)
	twoLate := append(three(20), sharer("late too", 0.2, 30, 100))
	for name, tc := range map[string]struct {
		load         growth.Share
		jobs         []deadline.Sharer
		want         deadline.Case
		grow, shrink []string
	}{
		"case 1, idle":                         {0, late, deadline.LateWithRoom, []string{"late"}, nil},
		"case 1, at θ2":                        {0.55, late, deadline.LateWithRoom, []string{"late"}, nil},
		"case 1, all late jobs":                {0.55, twoLate, deadline.LateWithRoom, []string{"late too", "late"}, nil},
		"case 2, above θ2":                     {0.56, late, deadline.LateWithoutRoom, []string{"late"}, []string{"small"}},
		"case 2, full":                         {1, late, deadline.LateWithoutRoom, []string{"late"}, []string{"small"}},
		"case 2, one late job at a time":       {1, twoLate, deadline.LateWithoutRoom, []string{"late too"}, []string{"small"}},
		"case 3, idle: the most sensitive":     {0, inTime, deadline.Idle, []string{"early"}, nil},
		"case 3, at θ1":                        {0.35, inTime, deadline.Idle, []string{"early"}, nil},
		"no case, above θ1":                    {0.36, inTime, deadline.Settled, nil, nil},
		"no case, at θ3":                       {0.70, inTime, deadline.Settled, nil, nil},
		"case 4, above θ3: the least":          {0.71, inTime, deadline.Full, nil, []string{"small"}},
		"case 4, full":                         {1, inTime, deadline.Full, nil, []string{"small"}},
		"an unknown load counts as a full one": {growth.Share(math.NaN()), late, deadline.LateWithoutRoom, []string{"late"}, []string{"small"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := deadline.Divide(deadline.PaperBands(), tc.load, tc.jobs)
			require.Equal(t, tc.want, d.Case)
			require.Equal(t, tc.grow, names(d.Grow))
			require.Equal(t, tc.shrink, names(d.Shrink))
			require.Contains(t, d.Case.String(), "case")
			sum := growth.Share(0)
			for i, j := range tc.jobs {
				sum += d.Shares[i]
				if len(tc.grow) > 0 && j.Name == tc.grow[0] {
					require.Greater(t, d.Shares[i], j.Share/total(tc.jobs))
				}
				if len(tc.shrink) > 0 && j.Name == tc.shrink[0] {
					require.Less(t, d.Shares[i], j.Share/total(tc.jobs))
				}
			}
			if tc.want == deadline.Settled {
				require.InDelta(t, float64(tc.jobs[0].Share), float64(d.Shares[0]), 1e-12)
			}
			require.InDelta(t, 1, float64(sum), 1e-9)
		})
	}
}

func total(jobs []deadline.Sharer) (sum growth.Share) {
	for _, j := range jobs {
		sum += j.Share
	}
	return sum
}

// A late job grows by the least that suffices, and by 36 % at most in one decision.
func TestDivide_Sizes(t *testing.T) {
	at := func(toDeadline growth.Seconds) float64 {
		jobs := []deadline.Sharer{sharer("late", 0.4, 40, toDeadline), sharer("other", 0.6, 600, never)}
		return float64(deadline.Divide(deadline.PaperBands(), 0.5, jobs).Shares[0])
	}
	require.InDelta(t, 0.4, at(100), 1e-9, "it is in time")
	require.InDelta(t, 0.4*(1+0.36*2/16), at(96), 1e-9, "40 s in 96 s need 0.417")
	require.InDelta(t, 0.4*1.36, at(60), 1e-9)
}

// A job of unknown size neither grows nor gives way, and a new one gets an equal part.
func TestDivide_NewJobsAndUnknownSizes(t *testing.T) {
	unknown := func(name string, share growth.Share) deadline.Sharer {
		return deadline.Sharer{Name: name, Share: share, ToDeadline: never}
	}
	d := deadline.Divide(deadline.PaperBands(), 1, []deadline.Sharer{unknown("a", 0.7), unknown("b", 0.3)})
	require.InDeltaSlice(t, []float64{0.7, 0.3}, floats(d.Shares), 1e-9)
	d = deadline.Divide(deadline.PaperBands(), 1, []deadline.Sharer{unknown("a", 0.7), unknown("b", 0.3), unknown("new", 0)})
	require.InDeltaSlice(t, []float64{0.525, 0.225, 0.25}, floats(d.Shares), 1e-9)
	require.Empty(t, deadline.Divide(deadline.PaperBands(), 1, nil).Shares)
}

func floats(shares []growth.Share) []float64 {
	all := make([]float64, len(shares))
	for i, s := range shares {
		all[i] = float64(s)
	}
	return all
}

// However often it decides, with any values, no job falls below a quarter of an equal part, and all parts together are the resource.
func TestDivide_KeepsAllJobsAlive(t *testing.T) {
	values := []float64{0, -1, 1, 0.2, 30, 1e300, math.Inf(1), math.Inf(-1), math.NaN()}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		invalid := seed%4 == 0
		number := func() growth.Seconds {
			if invalid {
				return growth.Seconds(values[rng.IntN(len(values))])
			}
			return growth.Seconds(1 + 300*rng.Float64())
		}
		jobs := make([]deadline.Sharer, 1+rng.IntN(8))
		for i := range jobs {
			work := number()
			jobs[i] = deadline.Sharer{
				Name:       strconv.Itoa(i),
				Work:       deadline.Interval{Low: work, Likely: work, High: number()},
				Known:      rng.IntN(5) > 0,
				ToDeadline: number(),
				Limit:      growth.Share(number()) / 100,
			}
		}
		for range 50 {
			d := deadline.Divide(deadline.PaperBands(), growth.Share(rng.Float64()), jobs)
			sum := growth.Share(0)
			for i := range jobs {
				jobs[i].Share = d.Shares[i]
				sum += d.Shares[i]
				require.Greater(t, d.Shares[i], 1/growth.Share(4*len(jobs)), "seed %d: %+v", seed, jobs)
			}
			require.InDelta(t, 1, float64(sum), 1e-9, "seed %d", seed)
		}
	}
}
