package advise_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/programs"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// job is a job that loads a sample in 10 ms with one worker and computes for 5 ms, with matching measurements.
func job(uid growth.PodUID, g growth.Growth, loaders int, options ...func(*history.Job)) history.Job {
	truth := loader.Model{Parallel: .01, Serial: 1e-4, Compute: .005}
	rate := truth.Rate(loaders)
	waiting := growth.Share(max(.01, 1-float64(rate)*float64(truth.Compute)))
	j := history.Job{
		UID: uid,
		Sample: &bus.Sample{
			Pod:      growth.PodRef{Namespace: "ns", Name: string(uid), UID: uid},
			Node:     "n1",
			GPUs:     []growth.GPU{"GPU-0"},
			Step:     100,
			Reported: true,
			Growth:   g,
			Loaders:  &loaders,
			Tunable:  []string{"cpu", "loaders"},
		},
	}
	for range 4 {
		j.Measurements = append(j.Measurements, loader.Measurement{Loaders: loaders, Rate: rate, Waiting: waiting})
	}
	for _, option := range options {
		option(&j)
	}
	return j
}

// justStarted leaves one measurement, which is too few for a prediction.
func justStarted(j *history.Job) { j.Measurements = j.Measurements[:1] }

func advised(generation int64, loaders int) func(*history.Job) {
	return func(j *history.Job) {
		j.Advice = &bus.Advice{Header: bus.Header{Version: 1}, Generation: generation, Loaders: &loaders}
		j.AdviceRevision = bus.Revision(1000 + generation)
	}
}

// oneCore is a node with one core for loading.
func oneCore(jobs ...history.Job) *history.Snapshot {
	return &history.Snapshot{
		Synced: true,
		Nodes: []history.Node{{
			Name: "n1",
			Load: &bus.NodeLoad{LoaderBudget: 1},
		}},
		Jobs:        jobs,
		Undecodable: map[string]error{},
	}
}

func loadersOf(changes []advise.Change) map[growth.PodUID]int {
	advised := map[growth.PodUID]int{}
	for _, c := range changes {
		advised[c.Job] = *c.Advice.Loaders
	}
	return advised
}

type loaders = map[growth.PodUID]int

// decideCase is one case of testDecide.
type decideCase struct {
	snapshot *history.Snapshot
	want     loaders
}

func testDecide(t *testing.T, cases map[string]decideCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := advise.Adviser{Policy: loader.DefaultChangePolicy()}
			require.Equal(t, c.want, loadersOf(a.Decide(c.snapshot, start)))
		})
	}
}

func TestDecide_DividesBudget(t *testing.T) {
	testDecide(t, map[string]decideCase{
		"a new job is reduced to the budget": {oneCore(job("a", .9, 2)), loaders{"a": 1}},
		"the growing job gets the only core": {oneCore(job("a", .1, 2), job("b", .9, 2), job("c", .2, 2)),
			loaders{"a": 0, "b": 1, "c": 0}},
		"numbers within the budget stay":         {oneCore(job("a", .1, 0), job("b", .9, 1)), loaders{}},
		"a converged job may use an unused core": {oneCore(job("a", 0, 2)), loaders{"a": 1}},
		"a job that has not reported its metric does not count as converged": {
			oneCore(job("a", .5, 2), job("new", 0, 2, func(j *history.Job) { j.Sample.Reported = false })),
			loaders{"a": 0, "new": 1},
		},
		"the workers of an untunable job are subtracted from the budget": {
			oneCore(job("a", .9, 2), job("fixed", .1, 1, func(j *history.Job) { j.Sample.Tunable = []string{"cpu"} })),
			loaders{"a": 0},
		},
		"a job that reports no workers is left alone": {
			oneCore(job("a", .9, 2, func(j *history.Job) { j.Sample.Loaders = nil })), loaders{},
		},
	})
}

func TestDecide_JobsWithoutMeasurements(t *testing.T) {
	testDecide(t, map[string]decideCase{
		"a job that has just started is left alone": {
			oneCore(job("a", .9, 1, justStarted)), loaders{},
		},
		"a job that has just started is reduced to the budget": {
			oneCore(job("a", .9, 2, justStarted)), loaders{"a": 1},
		},
		"unused cores go to measured jobs": {
			oneCore(job("a", .1, 0), job("new", .9, 2, justStarted)), loaders{"a": 1, "new": 0},
		},
		"workers of a job that has just started use the budget": {
			oneCore(job("a", .9, 0), job("new", .9, 1, justStarted)), loaders{},
		},
		"a node without cores for loading": {
			func() *history.Snapshot {
				s := oneCore(job("a", .9, 1), job("new", .9, 2, justStarted),
					job("fixed", .9, 2, func(j *history.Job) { j.Sample.Tunable = nil }))
				s.Nodes[0].Load = &bus.NodeLoad{LoaderBudget: 0}
				return s
			}(), loaders{"a": 0, "new": 0},
		},
		"a job without reported workers gets advice on a node without cores for loading": {
			func() *history.Snapshot {
				s := oneCore(job("unreported", 0, 0, func(j *history.Job) {
					j.Sample.Loaders = nil
					j.Measurements = nil
				}))
				s.Nodes[0].Load = &bus.NodeLoad{LoaderBudget: 0}
				return s
			}(), loaders{"unreported": 0},
		},
	})
}

// silent is a job that reports no workers, and that was never measured.
func silent(j *history.Job) { j.Sample.Loaders, j.Measurements = nil, nil }

// A job may have advice that it never asks for.
func TestDecide_CountsTheWorkersOfJobsThatHaveReportedThem(t *testing.T) {
	for name, tc := range map[string]decideCase{
		"advice waits for the first call of loaders()": {eightCores(job("a", .9, 0, silent, advised(1, 0))), loaders{}},
		"it is not repeated":                           {withBudget(0, job("a", .9, 0, silent, advised(1, 0))), loaders{}},
		"others have all cores meanwhile":              {eightCores(job("a", .9, 0, silent, advised(1, 0)), job("b", .9, 1, slow)), loaders{"b": 8}},
		"a job that has called it":                     {eightCores(job("a", .9, 0, justStarted, advised(1, 0))), loaders{"a": 4}},
		"advised to have some, and silent for a moment": {
			eightCores(job("a", .9, 4, silent, advised(2, 4)), job("b", .9, 1, slow)), loaders{"b": 4}},
		"measured, and silent for a moment": {
			eightCores(job("a", .9, 0, slow, advised(2, 0), func(j *history.Job) { j.Sample.Loaders = nil })), loaders{"a": 8}},
		"other advice is none on workers": {
			withBudget(0, job("a", .9, 0, silent, func(j *history.Job) { j.Advice = &bus.Advice{Limit: "as said"} })), loaders{"a": 0}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, loadersOf(decideLater(tc.snapshot))) })
	}
}

// The coordinator may restart while a job trains without workers by advice.
func TestDecide_RemembersThatAJobHasReportedWorkers(t *testing.T) {
	a := advise.Adviser{Policy: loader.DefaultChangePolicy()}
	require.Empty(t, a.Decide(eightCores(job("a", .9, 0, justStarted, advised(1, 0))), start))
	require.Empty(t, a.Decide(eightCores(job("a", .9, 0, silent, advised(1, 0))), start.Add(20*time.Second)))
	require.Equal(t, loaders{"a": 4}, loadersOf(a.Decide(eightCores(job("a", .9, 0, silent, advised(1, 0))), start.Add(time.Minute))))
}

func TestDecide_SkipsUnusableState(t *testing.T) {
	testDecide(t, map[string]decideCase{
		"pending advice is not repeated": {oneCore(job("a", .9, 2, advised(1, 1))), loaders{}},
		"advice of a newer version is not overwritten": {
			func() *history.Snapshot {
				s := oneCore(job("a", .9, 2))
				s.Undecodable[bus.AdviceKey("a")] = bus.ErrVersion
				return s
			}(), loaders{},
		},
		"a node without a load record is skipped": {
			func() *history.Snapshot {
				s := oneCore(job("a", .9, 2))
				s.Nodes[0].Load = nil
				return s
			}(), loaders{},
		},
		"jobs of other nodes do not count": {
			oneCore(job("a", .1, 2), job("b", .9, 2, func(j *history.Job) { j.Sample.Node = "n2" })), loaders{"a": 1},
		},
		"invalid records on the bus": {
			oneCore(job("a", -5, 2), job("b", 1e300, 2, func(j *history.Job) {
				n := math.MinInt
				j.Advice = &bus.Advice{Generation: math.MaxInt64, Loaders: &n}
				j.Sample.GPUs = make([]growth.GPU, 1<<12)
			})), loaders{"a": 1},
		},
		"a bus that has not been read": {&history.Snapshot{}, loaders{}},
		"an unavailable bus": {
			func() *history.Snapshot {
				s := oneCore(job("a", .9, 2))
				s.Err = errors.New("unavailable")
				return s
			}(), loaders{},
		},
	})
}

func TestDecide_GuardsAdviceAndContinuesGeneration(t *testing.T) {
	a := advise.Adviser{Policy: loader.DefaultChangePolicy()}
	first := a.Decide(oneCore(job("a", .9, 2)), start)
	require.Len(t, first, 1)
	require.Equal(t, bus.Absent(bus.AdviceKey("a")), first[0].Guard)
	require.Equal(t, int64(1), first[0].Advice.Generation)
	require.Regexp(t,
		`^2 → 1 data-loader workers: 2 workers ran on a budget of 1 core; \d+ → \d+ samples/s predicted, 200 if loading took no time, growth 0.90$`,
		first[0].Advice.Reason)

	unmeasured := a.Decide(oneCore(job("b", .9, 2, justStarted)), start)
	require.Equal(t, "2 → 1 data-loader workers: 2 workers ran on a budget of 1 core; not measured yet",
		unmeasured[0].Advice.Reason)

	batch := 64
	later := job("a", .9, 3, advised(41, 3), func(j *history.Job) { j.Advice.BatchSize = &batch })
	next := a.Decide(oneCore(later), start)
	require.Equal(t, bus.Unchanged(bus.AdviceKey("a"), 1041), next[0].Guard)
	require.Equal(t, int64(42), next[0].Advice.Generation, "a new leader continues the generation on the bus")
	require.Equal(t, &batch, next[0].Advice.BatchSize, "other advice is kept")
	require.Equal(t, 3, *later.Advice.Loaders, "the snapshot is not modified")
}

// earlier are the measurements of earlier jobs.
type earlier map[programs.ID][]loader.Measurement

func (e earlier) Before(_ growth.PodUID, program programs.ID) []loader.Measurement { return e[program] }

func TestDecide_PredictsAJobByEarlierOnes(t *testing.T) {
	program := programs.IDOf("ns", "train.py")
	for of, want := range map[programs.ID]string{program: "samples/s predicted", programs.IDOf("ns", "other.py"): "not measured yet"} {
		a := advise.Adviser{Policy: loader.DefaultChangePolicy(), Loaders: earlier{program: job("before", .9, 1).Measurements}}
		changes := a.Decide(oneCore(job("new", .9, 2, justStarted, func(j *history.Job) { j.Sample.Program = of })), start)
		require.Len(t, changes, 1)
		require.Contains(t, changes[0].Advice.Reason, want)
	}
}

func TestDecide_MovesCoreAfterMinimumTime(t *testing.T) {
	a := advise.Adviser{Policy: loader.DefaultChangePolicy()}
	before := oneCore(job("a", .9, 1), job("b", .1, 0))
	after := oneCore(job("a", .1, 1), job("b", .9, 0))
	require.Empty(t, a.Decide(before, start))
	require.Empty(t, a.Decide(after, start.Add(time.Second)), "a job keeps its workers for a while")
	require.Equal(t, loaders{"a": 0, "b": 1}, loadersOf(a.Decide(after, start.Add(time.Minute))))
	done := oneCore(job("b", .9, 0))
	require.Empty(t, a.Decide(done, start.Add(time.Minute)), "departures are collected")
	require.Equal(t, loaders{"b": 1}, loadersOf(a.Decide(done, start.Add(65*time.Second))),
		"a departed job's core is reassigned")
}

func TestDecide_WithdrawsAdviceOfMissingJob(t *testing.T) {
	gone := oneCore(history.Job{UID: "a", Advice: &bus.Advice{Generation: 3}, AdviceRevision: 9})
	a := advise.Adviser{Policy: loader.DefaultChangePolicy()}
	require.Empty(t, a.Decide(gone, start))
	require.Empty(t, a.Decide(gone, start.Add(time.Minute)))
	require.Equal(t, []advise.Change{{
		Job:   "a",
		Guard: bus.Unchanged(bus.AdviceKey("a"), 9),
	}}, a.Decide(gone, start.Add(61*time.Second)))

	require.Empty(t, a.Decide(oneCore(job("a", .9, 1, advised(3, 1))), start.Add(2*time.Minute)))
	require.Empty(t, a.Decide(gone, start.Add(3*time.Minute)), "a job that has returned must be missing for another minute")

	gone.Undecodable[bus.SampleKey("a")] = bus.ErrVersion
	require.Empty(t, a.Decide(gone, start.Add(time.Hour)), "an undecodable sample is not missing")
}

// A leader that has lost its lease and leads again does not know where the samples have been meanwhile.
func TestBegin_AMissingJobIsMissingSinceTheTermStarted(t *testing.T) {
	gone := oneCore(history.Job{UID: "a", Advice: &bus.Advice{Generation: 3}, AdviceRevision: 9})
	a := advise.Adviser{Policy: loader.DefaultChangePolicy()}
	require.Empty(t, a.Decide(gone, start))
	a.Begin()
	require.Empty(t, a.Decide(gone, start.Add(time.Hour)))
	require.Len(t, a.Decide(gone, start.Add(time.Hour+61*time.Second)), 1)
}

func TestDecide_CountsTheWorkersOfEachProcess(t *testing.T) {
	with := func(budget, ranks int) *history.Snapshot {
		s := oneCore(job("a", .9, 3, func(j *history.Job) { j.Sample.Ranks = ranks }))
		s.Nodes[0].Load.LoaderBudget = budget
		return s
	}
	testDecide(t, map[string]decideCase{
		"one process":     {with(2, 0), loaders{"a": 2}},
		"two processes":   {with(3, 2), loaders{"a": 1}},
		"eight processes": {with(7, 8), loaders{"a": 0}},
		"eight processes of a job that is not tuned": {
			func() *history.Snapshot {
				s := with(8, 8)
				s.Jobs[0].Sample.Tunable = nil
				*s.Jobs[0].Sample.Loaders = 1
				s.Jobs = append(s.Jobs, job("b", .9, 1))
				return s
			}(), loaders{"b": 0},
		},
	})
}
