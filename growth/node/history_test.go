package node_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/programs"
)

// learnedBy returns the runs of "train #" that another node publishes, which has trained the given jobs.
func learnedBy(t *testing.T, name growth.NodeName, jobs ...string) (runs []programs.Run) {
	w := harnessOfOneCore(t)
	w.start(policy.Harmless)
	for _, job := range jobs {
		w.trainSteps(job, "train #", 0, 90, plateau)
		w.remove(job)
	}
	require.Len(t, w.published, 1)
	for _, published := range w.published {
		runs = slices.Clone(published)
	}
	for i := range runs {
		runs[i].Node = name
		runs[i].Pod = growth.PodUID(fmt.Sprint(name, runs[i].Pod))
	}
	return runs
}

func TestHistory_PredictsFromRunsOfOtherNodes(t *testing.T) {
	w := harnessOfOneCore(t)
	w.start(policy.Harmless)
	w.remote = append(learnedBy(t, "a", "first"), learnedBy(t, "b", "second")...)
	w.trainSteps("here", "train #", 0, 32, plateau)
	got := w.inputs("here")
	require.Regexp(t, "^ns/(first|second) and 1 more$", got.SimilarJobs)
	require.Equal(t, "the cluster, 2 runs on 2 nodes", got.SimilarFrom)
	require.InDelta(t, 66-27, float64(got.ToTarget.Likely), 6, "%+v", got)
}

func TestHistory_NamesTheNodesOfAPrediction(t *testing.T) {
	w := harnessOfOneCore(t)
	w.start(policy.Harmless)
	w.trainSteps("first", "train #", 0, 90, plateau)
	w.remove("first")
	w.trainSteps("second", "train #", 0, 32, plateau)
	require.Equal(t, "this node", w.inputs("second").SimilarFrom)
	w.remote = learnedBy(t, "a", "there")
	w.trainSteps("third", "train #", 0, 32, plateau)
	require.Equal(t, "this node and the cluster, 1 run on 1 node", w.inputs("third").SimilarFrom)
}

// The node has seen nothing, and the job has made no step: only its program is known.
func TestHistory_PredictsBeforeTheFirstStep(t *testing.T) {
	w := harnessOfOneCore(t)
	w.start(policy.Harmless)
	w.startProgram("first", "train #", "90 7", 5)
	w.trainSteps("first", "train #", 1, 91, plateau)
	w.remove("first")
	var runs []programs.Run
	for _, runs = range w.published {
	}

	other := harnessOfOneCore(t)
	other.start(policy.Harmless)
	other.remote = runs
	other.remote[0].Node = "a"
	other.startProgram("second", "train #", "90 7", 0)
	other.pass(interval)
	got := other.inputs("second")
	require.InDelta(t, 95, float64(got.Remaining.Likely), 1, "%+v", got)
	require.Equal(t, "the cluster, 1 run on 1 node", got.SimilarFrom)
}

// Runs of the cluster whose work is 100 times too large or too small lose their influence with the first measured steps.
func TestHistory_PoisonedRunsLoseTheirWeight(t *testing.T) {
	for _, factor := range []float64{100, 0.01} {
		t.Run(fmt.Sprint(factor), func(t *testing.T) {
			w := harnessOfOneCore(t)
			w.start(policy.Harmless)
			w.remote = learnedBy(t, "a", "first", "again")
			for i := range w.remote {
				w.remote[i].Whole.StepCost *= growth.Work(factor)
				w.remote[i].Whole.StartupCost *= growth.Work(factor)
				for p := range w.remote[i].Points {
					w.remote[i].Points[p][0] *= factor
				}
			}
			w.trainSteps("here", "train #", 0, 32, plateau)
			got := w.inputs("here")
			require.Empty(t, got.SimilarJobs)
			require.InDelta(t, 90-27, float64(got.Remaining.Likely), 6, "%+v", got)
		})
	}
}

func TestHistory_PublishesTheNewestProgramsAgainAfterARestart(t *testing.T) {
	w := harnessOfOneCore(t)
	w.start(policy.Harmless)
	for i := range 20 {
		name := fmt.Sprint("job-", i)
		w.trainSteps(name, name, 0, 1, plateau)
		w.remove(name)
	}
	w.pass(interval)
	require.Len(t, w.published, 16)
	before := w.published
	w.published = map[programs.ID][]programs.Run{}
	w.start(policy.Harmless)
	require.Equal(t, before, w.published)
	for _, runs := range w.published {
		require.NoError(t, runs[0].Validate())
	}
}

func TestHistory_IgnoresRunsOfJobsThatAreGone(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.step(node.RunsProvided{Pod: "gone", Runs: []programs.Run{{Pod: "u"}}})
		require.Empty(t, w.events)
	})
}

// FuzzHistory steps a node with runs that are valid and otherwise arbitrary.
func FuzzHistory(f *testing.F) {
	f.Add(1.0, 1.0, 90.0, 0.5)
	f.Add(100.0, 1e12, 1e12, 1e150)
	f.Add(0.0, 0.0, 0.0, -1e150)
	f.Fuzz(func(t *testing.T, cost, start, total, value float64) {
		r := programs.Run{Pod: "u", Job: "ns/u"}
		r.Whole.StepCost, r.Whole.StartupCost, r.Whole.Total = growth.Work(cost), growth.Work(start), total
		for i := 0.0; i < 8; i++ {
			r.Points = append(r.Points, programs.Point{i * total / 7, value / (1 + i), 1})
		}
		if r.Validate() != nil {
			return
		}
		w := harnessOfOneCore(t)
		w.start(policy.Harmless)
		w.remote = []programs.Run{r}
		w.trainSteps("here", "train #", 0, 12, plateau)
		w.pass(2 * time.Second)
		got := w.inputs("here")
		require.False(t, math.IsNaN(float64(got.Remaining.Likely)) || got.Remaining.Likely < 0)
		require.False(t, math.IsNaN(float64(got.ToTarget.Likely)) || got.ToTarget.Likely < 0)
	})
}
