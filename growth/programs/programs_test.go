package programs_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

var (
	day = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	id  = programs.IDOf("team", "train loss:min")
)

// ended returns a run of 1,000 steps that ended some hours after day.
func ended(pod string, hours int, change ...func(*programs.Run)) programs.Run {
	var curve remaining.Curve
	for step := range 200 {
		curve.Add(float64(5*step), math.Exp(-float64(step)/40))
	}
	r := programs.Run{
		Pod:   growth.PodUID(pod),
		Job:   "team/" + pod,
		Ended: day.Add(time.Duration(hours) * time.Hour),
		Whole: remaining.Profile{Numbers: []string{"1000", "32"}, Total: 1000, StartupCost: 4, StepCost: 0.0123456789},
	}.WithCurve(curve)
	for _, c := range change {
		c(&r)
	}
	return r
}

// merged returns a model of runs that nodes have published, as "node/pod".
func merged(t *testing.T, runs ...string) programs.Model {
	var m programs.Model
	for i, r := range runs {
		node, pod, _ := strings.Cut(r, "/")
		_, refused := m.Merge(id, growth.NodeName(node), []programs.Run{ended(pod, i)}, day.Add(100*time.Hour))
		require.Empty(t, refused)
	}
	return m
}

func pods(m programs.Model) string {
	var all []string
	for _, r := range m.Runs {
		all = append(all, string(r.Node)+"/"+string(r.Pod))
	}
	return strings.Join(all, " ")
}

func TestMerge_KeepsTheNewestRunsOfAllNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		runs []string
		want string
	}{
		"nothing":                               {nil, ""},
		"the newest first":                      {[]string{"a/1", "b/2"}, "b/2 a/1"},
		"the same run twice":                    {[]string{"a/1", "a/1"}, "a/1"},
		"five of one node":                      {[]string{"a/1", "a/2", "a/3", "a/4", "a/5", "a/6"}, "a/6 a/5 a/4 a/3 a/2"},
		"the node with the most runs gives way": {[]string{"b/0", "a/1", "a/2", "a/3", "a/4", "c/5"}, "c/5 a/4 a/3 a/2 b/0"},
		"one node does not displace others": {
			[]string{"b/0", "c/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7"}, "a/7 a/6 a/5 c/1 b/0",
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, pods(merged(t, tc.runs...))) })
	}
}

func TestMerge_CountsWhatIsNew(t *testing.T) {
	var m programs.Model
	count, refused := m.Merge(id, "a", []programs.Run{ended("1", 0), ended("2", 1)}, day)
	require.Empty(t, refused)
	require.Equal(t, 2, count)
	count, _ = m.Merge(id, "a", []programs.Run{ended("1", 0), ended("2", 1)}, day)
	require.Zero(t, count, "a coordinator that restarts publishes the same again")
	count, _ = m.Merge(id, "b", []programs.Run{ended("1", 5)}, day)
	require.Zero(t, count, "a node cannot replace the run of another")
	count, _ = m.Merge(id, "a", []programs.Run{ended("3", 50)}, day)
	require.Equal(t, 1, count)
	require.Equal(t, day, m.Runs[0].Ended, "a clock that is ahead gives no run a longer life")
}

func TestMerge_RefusesImpossibleRuns(t *testing.T) {
	for name, spoil := range map[string]func(*programs.Run){
		"no pod":               func(r *programs.Run) { r.Pod = "" },
		"another namespace":    func(r *programs.Run) { r.Job = "theirs/job" },
		"no points":            func(r *programs.Run) { r.Points = nil },
		"too many points":      func(r *programs.Run) { r.Points = make([]programs.Point, 1000) },
		"NaN":                  func(r *programs.Run) { r.Points[3][1] = math.NaN() },
		"an infinite step":     func(r *programs.Run) { r.Points[3][0] = math.Inf(1) },
		"steps that go back":   func(r *programs.Run) { r.Points[3][0] = 0 },
		"a negative step":      func(r *programs.Run) { r.Points[0][0] = -1 },
		"no reports":           func(r *programs.Run) { r.Points[3][2] = 0 },
		"a huge metric":        func(r *programs.Run) { r.Points[3][1] = 1e300 },
		"a first that is NaN":  func(r *programs.Run) { r.First = new(math.NaN()) },
		"negative work":        func(r *programs.Run) { r.Whole.StepCost = -1 },
		"work that is NaN":     func(r *programs.Run) { r.Whole.StartupCost = growth.Work(math.NaN()) },
		"too many steps":       func(r *programs.Run) { r.Whole.Total = 1e13 },
		"an unknown unit":      func(r *programs.Run) { r.Whole.Unit = "joule" },
		"a very long argument": func(r *programs.Run) { r.Whole.Numbers = []string{strings.Repeat("7", 5000)} },
	} {
		t.Run(name, func(t *testing.T) {
			var m programs.Model
			count, refused := m.Merge(id, "a", []programs.Run{ended("1", 0, spoil)}, day)
			require.Zero(t, count)
			require.Len(t, refused, 1)
			require.Less(t, len(refused[0].Error()), 400)
			m.Runs = []programs.Run{ended("1", 0, spoil), ended("2", 0)}
			if name != "another namespace" { // the key of a model is guarded by the tuner
				require.Len(t, m.Validate(), 1)
				require.Len(t, m.Runs, 1)
			}
		})
	}
}

func TestUsable_LeavesOutRunsFarFromTheMedian(t *testing.T) {
	cost := func(factor growth.Work) func(*programs.Run) {
		return func(r *programs.Run) { r.Whole.StepCost *= factor }
	}
	for name, tc := range map[string]struct {
		runs []programs.Run
		want int
	}{
		"two that contradict each other":    {[]programs.Run{ended("1", 0), ended("2", 0, cost(100))}, 2},
		"one of three costs 100 times more": {[]programs.Run{ended("1", 0), ended("2", 0), ended("3", 0, cost(100))}, 2},
		"one of three costs 100 times less": {[]programs.Run{ended("1", 0), ended("2", 0), ended("3", 0, cost(0.01))}, 2},
		"a node that is twice as slow":      {[]programs.Run{ended("1", 0), ended("2", 0), ended("3", 0, cost(2))}, 3},
		"100 times the steps": {[]programs.Run{ended("1", 0), ended("2", 0), ended("3", 0, func(r *programs.Run) {
			r.Whole.Total *= 100
		})}, 2},
		"other numbers": {[]programs.Run{ended("1", 0), ended("2", 0), ended("3", 0, func(r *programs.Run) {
			r.Whole.Numbers, r.Whole.Total = []string{"100000", "32"}, 100_000
		})}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			m := programs.Model{Runs: tc.runs}
			require.Len(t, m.Usable(), tc.want)
		})
	}
}

func TestContradicts_NeedsAMeasuredCostOfTheSameWork(t *testing.T) {
	whole := ended("1", 0).Whole
	numbers := whole.Numbers
	require.False(t, programs.Contradicts(whole, 0, growth.CoreSecond, numbers), "nothing measured yet")
	require.False(t, programs.Contradicts(whole, 2*whole.StepCost, growth.CoreSecond, numbers))
	require.True(t, programs.Contradicts(whole, 100*whole.StepCost, growth.CoreSecond, numbers))
	require.True(t, programs.Contradicts(whole, whole.StepCost/100, growth.CoreSecond, numbers))
	require.False(t, programs.Contradicts(whole, 100*whole.StepCost, growth.GPUSecond, numbers))
	require.False(t, programs.Contradicts(whole, 100*whole.StepCost, growth.CoreSecond, []string{"7"}))
}

func TestReadableBy_SeparatesNamespaces(t *testing.T) {
	m := programs.Model{Readers: []string{"team", "friends"}}
	require.True(t, m.ReadableBy(id, "team"))
	require.False(t, m.ReadableBy(id, "friends"), "readers count only in a shared model")
	require.True(t, m.ReadableBy(id.In(programs.Shared), "friends"))
	require.False(t, m.ReadableBy(id.In(programs.Shared), "theirs"))
	all := programs.Model{Readers: []string{"*"}}
	require.True(t, all.ReadableBy(id.In(programs.Shared), "theirs"))
}

func TestWithCurve_KeepsTheShape(t *testing.T) {
	r := ended("1", 0)
	require.NoError(t, r.Validate())
	require.Len(t, r.Points, programs.MaxPoints)
	require.EqualValues(t, 0.012346, r.Whole.StepCost)
	curve := r.Curve()
	for _, p := range curve.Points[:programs.MaxPoints-1] {
		value, _, ok := curve.At(p.Step)
		require.True(t, ok)
		require.InDelta(t, math.Exp(-p.Step/200), value, 0.02, "at step %g", p.Step)
	}
}

func TestID_IsReadAsWritten(t *testing.T) {
	for _, id := range []programs.ID{id, id.In(programs.Shared), {}} {
		text, err := id.MarshalText()
		require.NoError(t, err)
		var got programs.ID
		require.NoError(t, got.UnmarshalText(text))
		require.Equal(t, id, got)
	}
	for _, text := range []string{"team", ":", "team:xyz", "Team:0123456789abcdef", "a/b:0123456789abcdef", "team:0123456789ABCDEF"} {
		_, err := programs.ParseID(text)
		require.Error(t, err, text)
	}
	require.Equal(t, programs.ID{}, programs.IDOf("team", ""), "an unknown program")
}

func ExampleModel_Merge() {
	var m programs.Model
	run := programs.Run{Pod: "u", Job: "team/first", Points: []programs.Point{{1, 0.5, 1}}}
	merged, refused := m.Merge(programs.IDOf("team", "train"), "node-a", []programs.Run{run}, time.Now())
	fmt.Println(merged, len(refused), m.Runs[0].Node)
	// Output: 1 0 node-a
}
