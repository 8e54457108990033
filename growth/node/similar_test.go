package node_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// plateau is a loss that falls a little at once, and most of its way after two thirds of 90 steps: what no fit of its
// beginning predicts.
func plateau(step float64) float64 { return 1 + 0.3*math.Exp(-step/3) + 1/(1+math.Exp((step-60)/2)) }

// alike runs a job of 90 steps, one a second while it is alone, for so many of them; the pod runs what is said.
func (w *harness) alike(name, runs string, from, to int, loss func(step float64) float64) {
	if from == 0 {
		w.arrive(name)
		pod, _ := w.pod(ref(name).UID)
		pod.Program = runs
		w.apply(pod)
		w.pass(time.Second) // its socket opens
	}
	for step := from; step < to; step++ {
		w.machine.used[ref(name).UID]++
		w.say(name, wire.Progress{Step: int64(step + 1), TotalSteps: 90, Steps: 1, Metrics: map[string]float64{"loss": loss(float64(step))}})
		w.pass(time.Second)
	}
}

// decided is the last decision about a job, inputs what it went by.
func (w *harness) decided(name string) node.Decision {
	e := w.explain(name)
	require.NotEmpty(w.t, e.Decisions)
	return e.Decisions[len(e.Decisions)-1]
}

func (w *harness) inputs(name string) node.Inputs { return w.decided(name).Inputs }

func harnessOfOneCore(t *testing.T) *harness {
	w := newHarness(t)
	w.machine = &machine{cores: 1, used: map[growth.PodUID]growth.Seconds{}}
	return w
}

func TestForecast_ComesFromASimilarJobThatHasEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		runs  string // by the second one
		loss  func(step float64) float64
		alike bool
	}{
		"it goes as the first did":       {"train #", plateau, true},
		"it runs something else":         {"test #", plateau, false},
		"what it runs is not known":      {"", plateau, false},
		"it learns in another way":       {"train #", func(step float64) float64 { return plateau(step / 30) }, false},
		"its loss is on another scale":   {"train #", func(step float64) float64 { return 100 * plateau(step) }, false},
		"the first one's was a flat lie": {"lie", plateau, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := harnessOfOneCore(t)
			w.start(policy.Harmless)
			w.alike("liar", "lie", 0, 90, func(float64) float64 { return 7 })
			w.remove("liar")
			w.alike("first", "train #", 0, 90, plateau)
			w.remove("first")
			w.alike("second", tc.runs, 0, 32, tc.loss)
			got := w.inputs("second")
			if !tc.alike {
				require.Empty(t, got.Like)
				return
			}
			require.Equal(t, "ns/first", got.Like)
			require.InDelta(t, 66-27, float64(got.Need.Likely), 5, "%+v", got)
		})
	}
}

func TestForecast_ComesFromAllSimilarJobs(t *testing.T) {
	w := harnessOfOneCore(t)
	w.start(policy.Harmless)
	for _, name := range []string{"first", "again"} {
		w.alike(name, "train #", 0, 90, plateau)
		w.remove(name)
	}
	w.alike("third", "train #", 0, 32, plateau)
	require.Regexp(t, "^ns/(first|again) and 1 more$", w.inputs("third").Like)
}

// A job of 90 steps takes five core-seconds before the first of them. Of the next ones nothing is known yet but what
// they run.
func TestForecast_BeforeTheFirstStep(t *testing.T) {
	for name, tc := range map[string]struct {
		was, runs, is string
		left          float64 // core-seconds; 0 for not known
	}{
		"the same once more":               {"90 7", "train #", "90 7", 95},
		"with fewer steps":                 {"90 7", "train #", "60 8", 65},
		"its numbers are ambiguous":        {"3 7", "train #", "2 7", 0},
		"of another program nothing holds": {"90 7", "test #", "90 7", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := harnessOfOneCore(t)
			w.start(policy.Harmless)
			w.begin("first", "train #", tc.was, 5)
			w.alike("first", "train #", 1, 91, plateau)
			w.remove("first")
			w.pass(interval)
			w.start(policy.Harmless)
			w.begin("second", tc.runs, tc.is, 0)
			w.pass(interval)
			got := w.inputs("second")
			require.InDelta(t, tc.left, float64(got.Left.Likely), 1, "%+v", got)
			require.Equal(t, tc.left > 0, got.Left.Known)
			require.InDelta(t, 0.75*tc.left, float64(got.Left.Low), 1)
			if tc.left == 95 {
				require.Equal(t, "ns/first", got.Like)
				require.InDelta(t, 5+66, float64(got.Need.Likely), 5)
			}
		})
	}
}

// begin lets a job arrive that uses a core for some seconds and has made no step.
func (w *harness) begin(name, runs, numbers string, seconds int) {
	w.arrive(name)
	pod, _ := w.pod(ref(name).UID)
	pod.Program, pod.Numbers = runs, strings.Fields(numbers)
	w.apply(pod)
	w.pass(time.Second)
	for range seconds {
		w.machine.used[ref(name).UID]++
		w.pass(time.Second)
	}
}

func TestForecast_ComesFromASimilarJobThatIsAhead(t *testing.T) {
	w := harnessOfOneCore(t)
	w.start(policy.Harmless)
	w.alike("ahead", "train #", 0, 80, plateau)
	w.alike("behind", "train #", 0, 22, plateau)
	require.Equal(t, "ns/ahead", w.inputs("behind").Like)
	require.Empty(t, w.inputs("ahead").Like)
}

func TestForecast_RunsSurviveARestart(t *testing.T) {
	w := harnessOfOneCore(t)
	w.start(policy.Harmless)
	w.alike("first", "train #", 0, 90, plateau)
	w.remove("first")
	w.pass(interval)
	w.start(policy.Harmless)
	w.alike("second", "train #", 0, 22, plateau)
	require.Equal(t, "ns/first", w.inputs("second").Like)
}

func TestForecast_FewRunsAreRemembered(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.machine = &machine{cores: 1, used: map[growth.PodUID]growth.Seconds{}}
		for i := range 10 {
			w.alike(fmt.Sprint("same-", i), "same", 0, 1, plateau)
			w.remove(fmt.Sprint("same-", i))
		}
		w.pass(interval)
		require.Len(t, w.nodeState().Ended, 4)
		require.Equal(t, "ns/same-9", w.nodeState().Ended[0].Job)
		others := func(from, to int) {
			for i := from; i < to; i++ {
				w.alike(fmt.Sprint("other-", i), fmt.Sprint("other-", i), 0, 1, plateau)
				w.remove(fmt.Sprint("other-", i))
			}
			w.pass(interval)
			require.Len(t, w.nodeState().Ended, min(to+4, 64))
			require.Equal(t, fmt.Sprint("ns/other-", to-1), w.nodeState().Ended[0].Job)
		}
		others(0, 60)
		require.Equal(t, "ns/same-6", w.nodeState().Ended[63].Job)
		others(60, 63)
		require.Equal(t, "ns/same-9", w.nodeState().Ended[63].Job, "who ran once is not forgotten for who ran four times")
		others(63, 64)
		require.Equal(t, "ns/other-0", w.nodeState().Ended[63].Job)
	})
}
