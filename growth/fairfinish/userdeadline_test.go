package fairfinish_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// withDeadlines gives some jobs the deadlines of their users, in seconds.
func withDeadlines(decide decider, deadlines map[growth.PodUID]float64) decider {
	return func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
		for i, j := range jobs {
			if d, declared := deadlines[j.ID]; declared {
				jobs[i].Deadline = fairfinish.UserDeadline{At: at(d), Work: j.Remaining}
			}
		}
		return decide(now, jobs)
	}
}

// Fair sharing ends the jobs at 270 s, 290 s and 390 s. The shorter job comes first, but can wait.
func TestDecide_ServesADeadline(t *testing.T) {
	tasks := []task{
		{work: 90, weight: 1, limit: 1},
		{work: 100, weight: 1, limit: 1},
		{work: 200, weight: 1, limit: 1},
	}
	for name, tc := range map[string]struct {
		deadline float64
		inTime   bool
	}{
		"far":                     {290, true},
		"near":                    {130, true},
		"as soon as possible":     {104, true},
		"infeasible":              {50, false},
		"that has passed already": {-10, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(fairfinish.Finish, 1)
			base := run(t, 1, tasks, fair)
			without := run(t, 1, tasks, harmless(t, c, false, nil))
			require.InDelta(t, 192, without[1].end, 2)
			got := run(t, 1, tasks, withDeadlines(harmless(t, c, false, nil), map[growth.PodUID]float64{"job-1": tc.deadline}))
			require.Equal(t, tc.inTime, got[1].end <= tc.deadline, "ends at %v", got[1].end)
			for i := range tasks {
				require.LessOrEqual(t, got[i].end, base[i].end+interval)
			}
			if !tc.inTime {
				require.Equal(t, without, got, "a deadline that cannot be made gains nothing")
			}
		})
	}
}

// What a deadline leaves is divided as before: the rest of the time goes to the job that reaches its target soonest.
func TestDecide_DividesWhatADeadlineLeaves(t *testing.T) {
	c := config(fairfinish.Balanced, 1)
	jobs := []fairfinish.Job{
		{ID: "due", Remaining: remaining.Exact(100), Deadline: fairfinish.UserDeadline{At: at(200), Work: remaining.Exact(100)}},
		{ID: "short", Remaining: remaining.Exact(60), ToTarget: remaining.Exact(10)},
		{ID: "long", Remaining: remaining.Exact(200), ToTarget: remaining.Exact(100)},
	}
	_, d := fairfinish.Decide(c, fairfinish.State{}, at(0), jobs)
	require.InDelta(t, 0.5, float64(d.Grants[0].Share), 0.02, "100 core-seconds in 200 s")
	require.Greater(t, float64(d.Grants[1].Share), 0.4)
	require.Contains(t, d.Grants[0].Reason, "its deadline in 200 s needs 100 core-seconds")
}

// The upper end of an uncertain size must be in time, as far as there is slack.
func TestDecide_ServesTheUpperEndOfTheWork(t *testing.T) {
	c := config(fairfinish.Growth, 1)
	uncertain := remaining.Estimate{Low: 80, Likely: 100, High: 150, Known: true}
	jobs := []fairfinish.Job{
		{ID: "due", Remaining: uncertain, ToTarget: remaining.Exact(0), Deadline: fairfinish.UserDeadline{At: at(200), Work: uncertain}},
		{ID: "other", Remaining: remaining.Exact(1000), ToTarget: remaining.Exact(10)},
	}
	_, d := fairfinish.Decide(c, fairfinish.State{}, at(0), jobs)
	require.InDelta(t, 0.75, float64(d.Grants[0].Share), 0.01, "150 core-seconds in 200 s")
}

// Two deadlines that exclude each other: the one with less work is served, then the earlier one, or the one whose priority makes up for it.
// The other one gains nothing.
func TestDecide_ServesTheDeadlineWithTheLeastWorkFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		work, due [2]float64
		priority  float64
		want      [2]bool
	}{
		"the earlier one":       {[2]float64{100, 100}, [2]float64{120, 130}, 1, [2]bool{true, false}},
		"the one with less":     {[2]float64{100, 80}, [2]float64{120, 130}, 1, [2]bool{false, true}},
		"the one with priority": {[2]float64{90, 100}, [2]float64{120, 130}, 4, [2]bool{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			tasks := []task{
				{work: tc.work[0], weight: 1, limit: 1},
				{work: tc.work[1], weight: 1, limit: 1},
				{work: 100, weight: 1, limit: 1},
			}
			policy := harmless(t, config(fairfinish.Finish, 1), false, nil)
			got := run(t, 1, tasks, func(now float64, jobs []fairfinish.Job) ([]float64, float64) {
				for i, by := range tc.due {
					jobs[i].Deadline = fairfinish.UserDeadline{At: at(by), Work: jobs[i].Remaining, Priority: 1}
				}
				jobs[1].Deadline.Priority = tc.priority
				return policy(now, jobs)
			})
			require.Equal(t, tc.want, [2]bool{got[0].end <= tc.due[0], got[1].end <= tc.due[1]}, "%v, %v", got[0].end, got[1].end)
		})
	}
}

// A deadline that the slack does not suffice for delays no other job, and the job says why it gains nothing. The shares are those
// without the deadline.
func TestDecide_ADeadlineThatOthersLeaveTooLittleForGainsNothing(t *testing.T) {
	c := config(fairfinish.Growth, 1)
	jobs := []fairfinish.Job{
		{ID: "due", Remaining: remaining.Exact(100), ToTarget: remaining.Exact(90)},
		{ID: "unknown"},
		{ID: "near", Remaining: remaining.Exact(300), ToTarget: remaining.Exact(5)},
	}
	_, without := fairfinish.Decide(c, fairfinish.State{}, at(0), jobs)
	jobs[0].Deadline = fairfinish.UserDeadline{At: at(105), Work: remaining.Exact(100)}
	_, with := fairfinish.Decide(c, fairfinish.State{}, at(0), jobs)
	for i := range jobs {
		require.InDelta(t, float64(without.Grants[i].Share), float64(with.Grants[i].Share), 1e-6)
	}
	require.Contains(t, with.Grants[0].Reason, "its deadline in 105 s gains nothing, because the work due to others leaves too little time for it")
}

// drawDeadlines gives about half of the jobs deadlines: feasible, tight, absurd and past ones.
func drawDeadlines(tasks []task, base []task, seed uint64) map[growth.PodUID]float64 {
	rng := rand.New(rand.NewPCG(seed, 21))
	deadlines := map[growth.PodUID]float64{}
	for i, k := range tasks {
		id, own := k.job(i).ID, base[i].end-k.arrival
		switch rng.IntN(8) {
		case 0:
			deadlines[id] = k.arrival + 1
		case 1:
			deadlines[id] = k.arrival - 100
		case 2, 3, 4:
			deadlines[id] = k.arrival + own*(0.2+rng.Float64())
		}
	}
	return deadlines
}

// Deadlines harm no job, with or without one: exact sizes, one core, any arrivals, weights and objective.
func TestDecide_DeadlinesHarmNoJobOnOneCore(t *testing.T) {
	inTime, before := 0, 0
	for seed := range uint64(seeds(t, 150)) {
		rng := rand.New(rand.NewPCG(seed, 22))
		tasks := draw(seed, 12, 1, seed%2 == 1)
		c := config(fairfinish.Objective(rng.Float64()), 1)
		base := run(t, 1, tasks, fair)
		deadlines := drawDeadlines(tasks, base, seed)
		without := run(t, 1, tasks, harmless(t, c, false, nil))
		got := run(t, 1, tasks, withDeadlines(harmless(t, c, false, nil), deadlines))
		for i := range tasks {
			require.LessOrEqual(t, got[i].end, base[i].end+interval, "seed %d, task %d of %+v, deadlines %v", seed, i, tasks, deadlines)
			if due, declared := deadlines[tasks[i].job(i).ID]; declared {
				inTime += count(got[i].end <= due)
				before += count(without[i].end <= due)
			}
		}
	}
	require.Greater(t, inTime, before, "deadlines that are in time")
	t.Logf("%d deadlines in time, %d without serving them", inTime, before)
}

// The bound on many cores, as without deadlines.
func TestDecide_BoundsTheHarmOfDeadlinesOnManyCores(t *testing.T) {
	for seed := range uint64(seeds(t, 150)) {
		rng := rand.New(rand.NewPCG(seed, 23))
		cores := []float64{2, 3, 8}[seed%3]
		tasks := draw(seed, 10, cores, seed%2 == 1)
		c := config(fairfinish.Objective(rng.Float64()), cores)
		base := run(t, cores, tasks, fair)
		deadlines := drawDeadlines(tasks, base, seed)
		got := run(t, cores, tasks, withDeadlines(harmless(t, c, seed%5 == 0, nil), deadlines))
		for i := range tasks {
			bound := interval + 0.05*(base[i].end-base[i].arrival)
			require.LessOrEqual(t, got[i].end, base[i].end+bound, "seed %d, task %d of %+v, deadlines %v", seed, i, tasks, deadlines)
		}
	}
}

// A job with an absurd deadline ends exactly when it would end without one, and so do all others.
func TestDecide_AnAbsurdDeadlineGainsNothing(t *testing.T) {
	for seed := range uint64(seeds(t, 50)) {
		tasks := draw(seed, 10, 1, false)
		for i := range tasks {
			tasks[i].work += 20 // more than a decision after the arrival
		}
		absurd := map[growth.PodUID]float64{}
		for i := 0; i < len(tasks); i += 2 {
			absurd[tasks[i].job(i).ID] = tasks[i].arrival + 1
		}
		c := config(fairfinish.Balanced, 1)
		without := run(t, 1, tasks, harmless(t, c, false, nil))
		require.Equal(t, without, run(t, 1, tasks, withDeadlines(harmless(t, c, false, nil), absurd)))
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func onGPU(id growth.PodUID, work growth.Work) fairfinish.Job {
	left := remaining.Exact(work)
	left.Unit = growth.GPUSecond
	return fairfinish.Job{ID: id, On: []growth.GPU{"gpu"}, Weight: 1, Limit: growth.Core, Remaining: left, ToTarget: left}
}

func TestDecide_ServesADeadlineOnAGPU(t *testing.T) {
	c := config(fairfinish.Finish, 1)
	c.Unit = growth.GPUSecond
	due := onGPU("due", 100)
	due.Deadline = fairfinish.UserDeadline{At: at(160), Work: due.Remaining}
	_, d := fairfinish.Decide(c, fairfinish.State{}, at(0), []fairfinish.Job{due, onGPU("short", 50)})
	require.InDelta(t, 0.625, float64(d.Grants[0].Share), 0.01, "100 GPU-seconds in 160 s")
	due.Deadline.Work.Unit = growth.CoreSecond
	_, d = fairfinish.Decide(c, fairfinish.State{}, at(0), []fairfinish.Job{due, onGPU("short", 50)})
	require.Less(t, float64(d.Grants[0].Share), 0.1, "work in another unit says nothing")
}

func TestExpect_KnowsWhenTheWorkOfADeadlineIsDone(t *testing.T) {
	c := config(fairfinish.Finish, 1)
	jobs := []fairfinish.Job{
		{ID: "due", Remaining: remaining.Exact(100), Deadline: fairfinish.UserDeadline{At: at(125), Work: remaining.Exact(40)}},
		{ID: "short", Remaining: remaining.Exact(50)},
	}
	s, _ := fairfinish.Decide(c, fairfinish.State{}, at(0), jobs)
	ends := fairfinish.Expect(c, s, jobs)
	require.Less(t, float64(ends[0].Due.Likely), 125.0)
	require.InDelta(t, 40, float64(ends[0].Alone.Likely), 1e-6)
	require.InDelta(t, 150, float64(ends[0].Likely), 1)
	require.Nil(t, ends[1].Due)

	ends = fairfinish.ExpectFair(c, jobs)
	require.InDelta(t, 80, float64(ends[0].Due.Likely), 1e-3)
}

func TestGiveWay(t *testing.T) {
	c := config(fairfinish.Finish, 1)
	ask := func(work growth.Work, deadline float64, others ...fairfinish.Job) fairfinish.Give {
		jobs := append([]fairfinish.Job{{
			ID:        "due",
			Remaining: remaining.Exact(work),
			Deadline:  fairfinish.UserDeadline{At: at(deadline), Work: remaining.Exact(work)},
		}}, others...)
		s, _ := fairfinish.Decide(c, fairfinish.State{}, at(0), jobs)
		return fairfinish.GiveWay(c, s, jobs, "due")
	}
	short := fairfinish.Job{ID: "short", Remaining: remaining.Exact(50)}
	long := fairfinish.Job{ID: "long", Remaining: remaining.Exact(900)}
	unknown := fairfinish.Job{ID: "unknown"}
	for name, tc := range map[string]struct {
		give    fairfinish.Give
		lacking float64
		pause   bool
		ways    map[growth.PodUID]float64
	}{
		"the slack suffices": {give: ask(100, 150, short)},
		// A job of unknown size is due half of the time: 50 of the first 100 s.
		"within the bound": {give: ask(52, 100, unknown), lacking: 2, ways: map[growth.PodUID]float64{"unknown": 2}},
		// The short job is due at 100 s under fair sharing, so 96 of 144 s are left. Within 5 % it may end at 105 s.
		"one has to pause": {
			give: ask(100, 103, short), lacking: 47, pause: true, ways: map[growth.PodUID]float64{"short": 47},
		},
		"the one that ends last is asked first": {
			give: ask(80, 100, unknown, long), lacking: 14, pause: true, ways: map[growth.PodUID]float64{"unknown": 14},
		},
		"both have to pause": {
			give: ask(99, 100, unknown, fairfinish.Job{ID: "unknown2"}), lacking: 65.7, pause: true,
			ways: map[growth.PodUID]float64{"unknown": 32.8, "unknown2": 32.8},
		},
		"not even alone": {give: ask(101, 100, short)},
	} {
		t.Run(name, func(t *testing.T) {
			require.InDelta(t, tc.lacking, float64(tc.give.Lacking), 0.5)
			require.Equal(t, tc.pause, tc.give.Pause)
			got := map[growth.PodUID]float64{}
			for _, way := range tc.give.Ways {
				got[way.ID] = float64(way.Work)
			}
			require.InDeltaMapValues(t, tc.ways, got, 0.5)
		})
	}
}

// An earlier deadline that is served in part takes what it gets: 66 of the 75 core-seconds that are due in 100 s, next to a job of unknown
// size. In the 180 s of the later one, 54 core-seconds are left for its 80; 75 without the earlier deadline.
func TestGiveWay_AfterADeadlineThatIsServedInPart(t *testing.T) {
	c := config(fairfinish.Finish, 1)
	lacking := func(earlier fairfinish.UserDeadline) float64 {
		jobs := []fairfinish.Job{
			{ID: "earlier", Remaining: remaining.Exact(75), Deadline: earlier},
			{ID: "later", Remaining: remaining.Exact(80), Deadline: fairfinish.UserDeadline{At: at(180), Work: remaining.Exact(80)}},
			{ID: "unknown"},
		}
		s, _ := fairfinish.Decide(c, fairfinish.State{}, at(0), jobs)
		return float64(fairfinish.GiveWay(c, s, jobs, "later").Lacking)
	}
	require.InDelta(t, 5, lacking(fairfinish.UserDeadline{}), 1e-3)
	require.InDelta(t, 26, lacking(fairfinish.UserDeadline{At: at(100), Work: remaining.Exact(75)}), 5)
}
