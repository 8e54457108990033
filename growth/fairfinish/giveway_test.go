package fairfinish

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// questionOf returns a random question: some jobs on some cores or on one GPU, which have been running for a while, with a tight deadline
// for the first one.
func questionOf(seed uint64, count int) question {
	rng := rand.New(rand.NewPCG(seed, 31))
	now := time.Unix(1_700_000_000, 0)
	c := Config{
		Objective: Objective(rng.Float64()),
		Floor:     DefaultFloor,
		Interval:  10 * time.Second,
		Cores:     growth.MilliCPU(1+rng.IntN(3)) * growth.Core,
	}
	var on []growth.GPU
	if rng.IntN(2) == 0 {
		c.Unit, c.Cores, on = growth.GPUSecond, growth.Core, []growth.GPU{"gpu"}
	}
	jobs := make([]Job, count)
	for i := range jobs {
		left := remaining.Exact(growth.Work(10 + rng.IntN(190)))
		left.Unit = c.Unit
		if i > 0 && rng.IntN(4) == 0 {
			left = remaining.Estimate{Unit: c.Unit}
		}
		jobs[i] = Job{ID: growth.PodUID(strconv.Itoa(i)), Remaining: left, ToTarget: left, On: on, Limit: growth.Core}
		jobs[i].Deadline.Work.Unit = c.Unit
	}
	s, _ := Decide(c, State{}, now, jobs)
	for i := range jobs {
		jobs[i].Used = growth.Work(rng.IntN(30))
	}
	work := jobs[0].Remaining
	at := now.Add(60*time.Second + growth.Seconds(float64(work.Likely)*(1+2*rng.Float64())).Duration())
	jobs[0].Deadline = UserDeadline{At: at, Work: work}
	s, _ = Decide(c, s, now.Add(60*time.Second), jobs)
	return question{config: c, state: s, jobs: jobs, id: "0", seconds: at.Sub(s.At).Seconds()}
}

// subsets calls visit with all subsets of the other jobs.
func (q question) subsets(visit func(set []growth.PodUID)) {
	for bits := range 1 << (len(q.jobs) - 1) {
		var set []growth.PodUID
		for i := range len(q.jobs) - 1 {
			if bits>>i&1 == 1 {
				set = append(set, q.jobs[i+1].ID)
			}
		}
		visit(set)
	}
}

// Whether some jobs suffice is decided as by trying all sets of jobs. Of the jobs that are named none can be left out.
func TestGiveWay_EqualsBruteForce(t *testing.T) {
	found, paused := 0, 0
	for seed := range uint64(400) {
		q := questionOf(seed, 2+int(seed%4))
		if q.lacking(nil, false) <= tolerance {
			require.Empty(t, GiveWay(q.config, q.state, q.jobs, q.id).Ways, "seed %d", seed)
			continue
		}
		give := GiveWay(q.config, q.state, q.jobs, q.id)
		require.Equal(t, give, GiveWay(q.config, q.state, q.jobs, q.id), "the same question has the same answer")
		for _, pause := range []bool{false, true} {
			suffices := false
			q.subsets(func(set []growth.PodUID) { suffices = suffices || q.lacking(set, pause) <= tolerance })
			named := len(give.Ways) > 0 && give.Pause == pause
			require.Equal(t, suffices, named, "seed %d, pause %t: %+v of %+v", seed, pause, give, q)
			if suffices {
				break // GiveWay does not ask them to pause
			}
		}
		var set []growth.PodUID
		sum := growth.Work(0)
		for _, way := range give.Ways {
			set = append(set, way.ID)
			sum += way.Work
			require.InDelta(t, float64(way.Work)/q.seconds, way.Part.Cores(), 0.001)
		}
		for i := range set {
			require.Greater(t, q.lacking(slices.Delete(slices.Clone(set), i, i+1), give.Pause), tolerance, "seed %d: %s is not needed", seed, set[i])
		}
		if len(set) > 0 {
			require.InDelta(t, float64(give.Lacking), float64(sum), 1e-3, "seed %d", seed)
			found++
		}
		if give.Pause {
			paused++
		}
	}
	t.Logf("%d answers with names, %d of them to pause", found, paused)
	require.Greater(t, found, 50)
	require.Greater(t, paused, 10)
}

// Of more jobs a set may be missed, but rarely. One that is named suffices, and none of its jobs can be left out.
func TestGiveWay_OfManyJobs(t *testing.T) {
	missed, asked := 0, 0
	for seed := range uint64(60) {
		q := questionOf(seed, 3+maxTried)
		if q.lacking(nil, false) <= tolerance {
			continue
		}
		asked++
		give := GiveWay(q.config, q.state, q.jobs, q.id)
		var set []growth.PodUID
		for _, way := range give.Ways {
			set = append(set, way.ID)
		}
		if len(set) > 0 {
			require.LessOrEqual(t, q.lacking(set, give.Pause), tolerance, "seed %d", seed)
		}
		for i := range set {
			require.Greater(t, q.lacking(slices.Delete(slices.Clone(set), i, i+1), give.Pause), tolerance, "seed %d", seed)
		}
		for _, pause := range []bool{false, true} {
			suffices := false
			q.subsets(func(set []growth.PodUID) { suffices = suffices || q.lacking(set, pause) <= tolerance })
			if suffices {
				missed += miss(len(set) == 0 || give.Pause != pause)
				break
			}
		}
	}
	t.Logf("%d of %d sets were missed", missed, asked)
	require.Less(t, float64(missed), 0.1*float64(asked))
}

func miss(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// However many jobs there are, the number of names and the time for the answer are bounded.
func TestGiveWay_NamesFewJobs(t *testing.T) {
	jobs := []Job{{ID: "due", Remaining: remaining.Exact(100)}}
	for i := range 100 {
		jobs = append(jobs, Job{ID: growth.PodUID(strconv.Itoa(i))}) // of unknown size: its fair share is due at all times
	}
	c := Config{Floor: DefaultFloor, Interval: time.Minute, Cores: growth.Core}
	now := time.Unix(1_700_000_000, 0)
	jobs[0].Deadline = UserDeadline{At: now.Add(101 * time.Second), Work: jobs[0].Remaining}
	s, _ := Decide(c, State{}, now, jobs)
	give := GiveWay(c, s, jobs, "due")
	require.Greater(t, give.Lacking, growth.Work(0))
	require.LessOrEqual(t, len(give.Ways), maxAsked)
}
