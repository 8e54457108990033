package fairfinish

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// flow is the reference implementation of plan.deficit. Work flows from the due work of each job to the segments before
// it, along any path with room (Ford and Fulkerson). It handles small integers only.
func flow(p *plan) (deficit int) {
	jobs, segments := len(p.limits), len(p.lengths)
	inner := 1 + jobs*segments      // due work of job i at the end of segment s
	middle := inner + jobs*segments // work of job i in segment s
	sink := middle + segments       // the segments, then the sink
	room := make([][]int, sink+1)
	for i := range room {
		room[i] = make([]int, sink+1)
	}
	for i := range jobs {
		before := 0
		for s := range segments {
			due := int(p.due[i][s])
			room[0][1+i*segments+s] = due - before
			deficit += due - before
			before = due
			for earlier := range s + 1 {
				room[1+i*segments+s][inner+i*segments+earlier] = math.MaxInt32
			}
			room[inner+i*segments+s][middle+s] = int(p.limits[i] * p.lengths[s])
		}
	}
	for s := range segments {
		room[middle+s][sink] = int(p.cores * p.lengths[s])
	}
	for push(room, make([]bool, sink+1), 0, sink) {
		deficit--
	}
	return deficit
}

// push moves one unit from a node to the sink if there is a path.
func push(room [][]int, seen []bool, from, sink int) bool {
	if from == sink {
		return true
	}
	seen[from] = true
	for to := range room {
		if !seen[to] && room[from][to] > 0 && push(room, seen, to, sink) {
			room[from][to]--
			room[to][from]++
			return true
		}
	}
	return false
}

// randomPlan returns a random plan of integers. With single, each job has due work in one segment only.
func randomPlan(rng *rand.Rand, single bool) *plan {
	p := &plan{cores: float64(1 + rng.IntN(4))}
	for range 1 + rng.IntN(4) {
		p.lengths = append(p.lengths, float64(1+rng.IntN(4)))
	}
	for range 1 + rng.IntN(4) {
		p.limits = append(p.limits, float64(1+rng.IntN(int(p.cores))))
		due, sum, at := make([]float64, len(p.lengths)), 0.0, rng.IntN(len(p.lengths))
		for s := range due {
			if !single || s == at {
				sum += float64(rng.IntN(8))
			}
			due[s] = sum
		}
		p.due = append(p.due, due)
	}
	return p
}

func TestPlan_DeficitMatchesMaximumFlow(t *testing.T) {
	feasible := 0
	for seed := range uint64(4000) {
		p := randomPlan(rand.New(rand.NewPCG(seed, 3)), seed%2 == 0)
		want := flow(p)
		if want == 0 {
			feasible++
		}
		require.InDelta(t, want, p.deficit(), 1e-9, "seed %d: %+v", seed, p)
	}
	require.Greater(t, feasible, 500)
	require.Less(t, feasible, 3500)
}

// The reference implementation advances fair sharing in small steps and divides the cores again in each.
func TestForecast_MatchesASimulationInSmallSteps(t *testing.T) {
	const step = 1.0 / 64
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 4))
		c := Config{Cores: growth.MilliCPU(1000 * (1 + rng.IntN(4))), Interval: time.Second}
		s := State{Accounts: map[growth.PodUID]Account{}}
		for i := range 1 + rng.IntN(5) {
			left := remaining.Exact(growth.Work(1 + rng.IntN(20)))
			if rng.IntN(6) == 0 {
				left = remaining.Estimate{}
			}
			s.Accounts[growth.PodUID('a'+rune(i))] = Account{
				Remaining: left,
				Weight:    float64(1 + rng.IntN(3)),
				Limit:     float64(1 + rng.IntN(3)),
			}
		}
		ids, accounts := s.sorted(func(Account) bool { return true })
		f := newForecast(accounts, c.Cores.Cores())
		slow := append([]Account(nil), accounts...)
		for n := 1; n <= 64*40; n++ {
			var here []int
			var running []Account
			for i, a := range slow {
				if a.active() {
					here, running = append(here, i), append(running, a)
				}
			}
			for k, rate := range fairRates(running, c.Cores.Cores()) {
				a := &slow[here[k]]
				_, size := a.size()
				a.FairWork = min(a.FairWork+growth.Work(rate*step), size)
			}
			for i := range slow {
				require.InDelta(t, float64(slow[i].FairWork), f.fairAt(i, float64(n)*step), 0.2, "seed %d", seed)
			}
		}
		s.advanceFair(c.Cores.Cores(), 40)
		for i, id := range ids {
			require.InDelta(t, float64(slow[i].FairWork), float64(s.Accounts[id].FairWork), 0.2)
		}
	}
}

func TestFairRates(t *testing.T) {
	of := func(weight, limit float64) Account { return Account{Weight: weight, Limit: limit} }
	for name, tc := range map[string]struct {
		cores    float64
		accounts []Account
		want     []float64
	}{
		"there are no jobs":                         {1, nil, []float64{}},
		"equal jobs":                                {3, []Account{of(1, 9), of(1, 9)}, []float64{1.5, 1.5}},
		"in proportion to the weights":              {3, []Account{of(2, 9), of(1, 9)}, []float64{2, 1}},
		"a limited job leaves the rest to others":   {4, []Account{of(1, 1), of(1, 9), of(1, 9)}, []float64{1, 1.5, 1.5}},
		"all jobs at their limits leave cores idle": {8, []Account{of(1, 1), of(5, 2)}, []float64{1, 2}},
		"a heavy job at its limit":                  {4, []Account{of(9, 1), of(1, 9)}, []float64{1, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			require.InDeltaSlice(t, tc.want, fairRates(tc.accounts, tc.cores), 1e-12)
		})
	}
}
