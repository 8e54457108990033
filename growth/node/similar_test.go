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

// plateau is a loss that falls a little at the start, and most after two thirds of 90 steps. No fit of its beginning
// predicts the second fall.
func plateau(step float64) float64 { return 1 + 0.3*math.Exp(-step/3) + 1/(1+math.Exp((step-60)/2)) }

// trainSteps runs the steps from..to of a job of 90 steps, one core-second each. At step 0 it starts the job's pod.
func (w *harness) trainSteps(name, program string, from, to int, loss func(step float64) float64) {
	if from == 0 {
		w.run(name, program)
		w.pass(time.Second) // the node opens its slot
	}
	for step := from; step < to; step++ {
		w.machine.used[ref(name).UID]++
		w.send(name, wire.Progress{Step: int64(step + 1), TotalSteps: 90, Steps: 1, Metrics: wire.Metrics{{Name: "loss", Value: loss(float64(step))}}})
		w.pass(time.Second)
	}
}

// decided returns the last decision about a job, inputs what was known at the time.
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

func TestForecast_UsesASimilarJobThatHasEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		program string // the second job's program
		loss    func(step float64) float64
		similar bool
	}{
		"the same program and curve":        {"train #", plateau, true},
		"another program":                   {"test #", plateau, false},
		"an unknown program":                {"", plateau, false},
		"a curve of another shape":          {"train #", func(step float64) float64 { return plateau(step / 30) }, false},
		"a loss of another scale":           {"train #", func(step float64) float64 { return 100 * plateau(step) }, false},
		"a program whose loss was constant": {"constant", plateau, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := harnessOfOneCore(t)
			w.start(policy.Harmless)
			w.trainSteps("flat", "constant", 0, 90, func(float64) float64 { return 7 })
			w.remove("flat")
			w.trainSteps("first", "train #", 0, 90, plateau)
			w.remove("first")
			w.trainSteps("second", tc.program, 0, 32, tc.loss)
			got := w.inputs("second")
			if !tc.similar {
				require.Empty(t, got.SimilarJobs)
				return
			}
			require.Equal(t, "ns/first", got.SimilarJobs)
			require.InDelta(t, 66-27, float64(got.ToTarget.Likely), 5, "%+v", got)
		})
	}
}

func TestForecast_UsesAllSimilarJobs(t *testing.T) {
	w := harnessOfOneCore(t)
	w.start(policy.Harmless)
	for _, name := range []string{"first", "again"} {
		w.trainSteps(name, "train #", 0, 90, plateau)
		w.remove(name)
	}
	w.trainSteps("third", "train #", 0, 32, plateau)
	require.Regexp(t, "^ns/(first|again) and 1 more$", w.inputs("third").SimilarJobs)
}

// The first job has 90 steps and uses five core-seconds before the first one. The second job has made no step yet: only
// its program and numbers are known.
func TestForecast_UsesAProfileBeforeTheFirstStep(t *testing.T) {
	for name, tc := range map[string]struct {
		numbers, program, newNumbers string
		remaining                    float64 // in core-seconds; 0 if unknown
	}{
		"equal numbers":                      {"90 7", "train #", "90 7", 95},
		"fewer steps":                        {"90 7", "train #", "60 8", 65},
		"the total is not among the numbers": {"3 7", "train #", "2 7", 0},
		"another program":                    {"90 7", "test #", "90 7", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := harnessOfOneCore(t)
			w.start(policy.Harmless)
			w.startProgram("first", "train #", tc.numbers, 5)
			w.trainSteps("first", "train #", 1, 91, plateau)
			w.remove("first")
			w.pass(interval)
			w.start(policy.Harmless)
			w.startProgram("second", tc.program, tc.newNumbers, 0)
			w.pass(interval)
			got := w.inputs("second")
			require.InDelta(t, tc.remaining, float64(got.Remaining.Likely), 1, "%+v", got)
			require.Equal(t, tc.remaining > 0, got.Remaining.Known)
			require.InDelta(t, 0.75*tc.remaining, float64(got.Remaining.Low), 1)
			if tc.remaining == 95 {
				require.Equal(t, "ns/first", got.SimilarJobs)
				require.InDelta(t, 5+66, float64(got.ToTarget.Likely), 5)
			}
		})
	}
}

// startProgram starts a pod that uses a core for some seconds before its first step.
func (w *harness) startProgram(name, program, numbers string, seconds int) {
	w.run(name, program, strings.Fields(numbers)...)
	w.pass(time.Second)
	for range seconds {
		w.machine.used[ref(name).UID]++
		w.pass(time.Second)
	}
}

func TestForecast_UsesASimilarJobThatIsAhead(t *testing.T) {
	w := harnessOfOneCore(t)
	w.start(policy.Harmless)
	w.trainSteps("ahead", "train #", 0, 80, plateau)
	w.trainSteps("behind", "train #", 0, 22, plateau)
	require.Equal(t, "ns/ahead", w.inputs("behind").SimilarJobs)
	require.Empty(t, w.inputs("ahead").SimilarJobs)
}

func TestForecast_RunsSurviveARestart(t *testing.T) {
	w := harnessOfOneCore(t)
	w.start(policy.Harmless)
	w.trainSteps("first", "train #", 0, 90, plateau)
	w.remove("first")
	w.pass(interval)
	w.start(policy.Harmless)
	w.trainSteps("second", "train #", 0, 22, plateau)
	require.Equal(t, "ns/first", w.inputs("second").SimilarJobs)
}

func TestForecast_BoundsTheRememberedRuns(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.machine = &machine{cores: 1, used: map[growth.PodUID]growth.Seconds{}}
		for i := range 10 {
			w.trainSteps(fmt.Sprint("same-", i), "same", 0, 1, plateau)
			w.remove(fmt.Sprint("same-", i))
		}
		w.pass(interval)
		require.Len(t, w.nodeState().Ended, 4)
		require.Equal(t, "ns/same-9", w.nodeState().Ended[0].Job)
		others := func(from, to int) {
			for i := from; i < to; i++ {
				w.trainSteps(fmt.Sprint("other-", i), fmt.Sprint("other-", i), 0, 1, plateau)
				w.remove(fmt.Sprint("other-", i))
			}
			w.pass(interval)
			require.Len(t, w.nodeState().Ended, min(to+4, 64))
			require.Equal(t, fmt.Sprint("ns/other-", to-1), w.nodeState().Ended[0].Job)
		}
		others(0, 60)
		require.Equal(t, "ns/same-6", w.nodeState().Ended[63].Job)
		others(60, 63)
		require.Equal(t, "ns/same-9", w.nodeState().Ended[63].Job, "a program with one run keeps it, a program with four loses one")
		others(63, 64)
		require.Equal(t, "ns/other-0", w.nodeState().Ended[63].Job)
	})
}
