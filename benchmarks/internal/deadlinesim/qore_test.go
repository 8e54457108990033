package deadlinesim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// empty is a cluster without background.
func empty(hosts ...Host) *cluster {
	l := Layout{Name: "test", Hosts: hosts}
	trace := Trace{"idle": {load{}}}
	for range hosts {
		l.Traced = append(l.Traced, "idle")
	}
	c := newCluster(l, newBackground(l, trace, 1))
	c.loadBackground()
	return c
}

// planned is a job that has a deadline left seconds from now, and requests cores.
func planned(left, cores float64) *plan {
	j := Job{
		Law:      Law{Compute: 1, Usable: 2},
		Workers:  1,
		Servers:  1,
		Steps:    1000,
		Peak:     cores,
		Memory:   1,
		Deadline: left,
	}
	r := newRunning(j, 0)
	r.memory = j.Memory
	return &plan{running: r, workers: 1, servers: 1, cpu: cores}
}

// An overdue job of the code ranks lower the larger it is, although urgent jobs rank higher.
func TestPriority_OfOverdueJobs(t *testing.T) {
	c := empty(Host{100, 100})
	q := newQore(qoreCode{}, 1)
	code := func(p *plan) float64 { return literalPriority(q, c, p, 0.8) }
	repaired := func(load float64) func(*plan) float64 {
		return func(p *plan) float64 { return repairedPriority(c, p, load) }
	}
	require.Greater(t, code(planned(100, 1)), code(planned(100, 10)), "small jobs first")
	require.Less(t, code(planned(-100, 1)), code(planned(-100, 10)), "the defect: overdue, large jobs first")
	for name, rank := range map[string]func(*plan) float64{"heavy load": repaired(0.8), "light load": repaired(0.2)} {
		require.Greater(t, rank(planned(-100, 5)), rank(planned(-10, 5)), "%s: the more overdue, the earlier", name)
		require.Greater(t, rank(planned(-10, 5)), rank(planned(10, 5)), "%s: overdue before urgent", name)
		require.Equal(t, rank(planned(100, 1)) > rank(planned(100, 10)), rank(planned(-100, 1)) > rank(planned(-100, 10)),
			"%s: the same preference for the size", name)
	}
}

// The code's noise changes the order of the same input.
func TestPriority_IsDeterministic(t *testing.T) {
	c := empty(Host{100, 100})
	q := newQore(qoreCode{}, 1)
	literal, repaired := map[float64]bool{}, map[float64]bool{}
	for range 100 {
		p := planned(1000, 5)
		literal[literalPriority(q, c, p, 0.2)] = true
		repaired[repairedPriority(c, p, 0.2)] = true
	}
	require.Greater(t, len(literal), 1, "the defect")
	require.Len(t, repaired, 1)
}

// The code adds the time of a restart to what another worker gains.
func TestHorizontalGain_HasTheWrongSign(t *testing.T) {
	p := planned(1000, 5)
	need := p.remaining() * p.time(p.cpu)
	honest := need - p.total/2*p.time(p.cpu) - restartSeconds
	require.Greater(t, horizontalGain(p, need), honest+restartSeconds)
}

// With the code, a job that does not fit blocks all jobs behind it until the next round.
func TestSubmit_HeadOfLine(t *testing.T) {
	for name, tc := range map[string]struct {
		rules   qoreRules
		started bool
	}{
		"code":  {qoreCode{}, false},
		"paper": {qorePaper{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := empty(Host{16, 64})
			q := newQore(tc.rules, 1)
			large, small := planned(10, 30), planned(1e6, 1)
			q.buffer = []*plan{large, small}
			for _, p := range q.buffer {
				q.plans[p.running] = p
			}
			q.submit(c)
			require.Nil(t, large.pods)
			require.Equal(t, tc.started, small.pods != nil)
		})
	}
}

// The genetic algorithm against enumeration: it cannot be better, and often misses the best size.
func TestEvolve_MissesTheBest(t *testing.T) {
	c := empty(Host{100, 1000})
	missed, cases := 0, 200
	for seed := range cases {
		q := newQore(qoreCode{}, uint64(seed))
		a := grow(adjustment{plan: planned(1e6, 5)}, true)
		best := math.Inf(-1)
		for x := range 1 << bits {
			for y := range 1 << bits {
				best = max(best, a.fitness(c, a.candidate(x, y, 1<<bits)))
			}
		}
		s, _ := evolve(q, c, a)
		found := a.fitness(c, s)
		require.LessOrEqual(t, found, best)
		if found < best-1e-12 {
			missed++
		}
	}
	require.Greater(t, missed, cases/10)
}

// Changed jobs free what they request, so nothing is requested once all have ended.
func TestRun_FreesAllRequests(t *testing.T) {
	var jobs []Job
	for i := range 12 {
		jobs = append(jobs, Job{
			Law:         Law{Compute: 1, Usable: 1.5},
			Arrival:     300 * float64(i),
			Workers:     2,
			Servers:     1,
			Steps:       2000,
			Peak:        4,
			Memory:      4,
			CPUGuess:    1,
			MemoryGuess: 1,
			Deadline:    float64(1000 + 500*(i%5)),
		})
	}
	for name, rules := range map[string]qoreRules{
		"code":            qoreCode{},
		"paper":           qorePaper{},
		"paper, in place": qorePaper{resizes: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := empty(Host{16, 64}, Host{16, 64})
			changes := 0
			for _, r := range c.run(jobs, newQore(rules, 1)) {
				require.Positive(t, r.endedAt)
				changes += r.changes
			}
			require.Positive(t, changes)
			for _, requested := range c.requested {
				require.InDelta(t, 0, requested.Cores, 1e-6)
				require.InDelta(t, 0, requested.Memory, 1e-6)
			}
		})
	}
}

// The adjuster evaluates sizes before it applies one of them.
func TestSizes_AreEvaluatedWithoutEffect(t *testing.T) {
	c := empty(Host{100, 1000})
	a := grow(adjustment{plan: planned(1e6, 5)}, true)
	before := a.present()
	large := size{cpu: 9, memory: 2, workers: 3, servers: 1}
	a.fitness(c, large)
	a.option(c, "large", large, 0)
	require.Equal(t, before, a.present())
}
