package node_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// falseSteps are the steps that a job reports instead of those that it has made.
var falseSteps = map[string]func(step, total int64) int64{
	"ten times too many": func(step, _ int64) int64 { return 10 * step },
	"ten times too few":  func(step, _ int64) int64 { return step/10 + 1 },
	"falling":            func(step, total int64) int64 { return total - step },
	"huge":               func(step, _ int64) int64 { return math.MaxInt64/2 + step },
	"a jump to the end":  func(step, total int64) int64 { return max(step, min(20*step, total-1)) },
}

// A job on a divided GPU reports false steps. Its own predictions are as wrong as they are. The other jobs end within the bound of
// harmless, 5 % after fair sharing, and a round for the decisions. All shares, speeds and work that the node shows stay possible.
func TestFalseSteps_DelayNoOtherJob(t *testing.T) {
	for mode, together := range map[string]string{
		"in turns": "",
		"in sets":  " together=0.8", // two jobs do 1.6 times the work of one
	} {
		for name, claims := range falseSteps {
			t.Run(mode+", "+name, func(t *testing.T) {
				s := &scenario{t: t}
				for _, command := range []string{
					"node policy=harmless interval=10s cores=4 gpu-time=on",
					"pod small cpu=500m metric=loss:min",
					"pod liar cpu=500m metric=loss:min",
					"pod large cpu=500m metric=loss:min",
					"trains small seconds=120" + together,
					"trains liar seconds=200" + together,
					"trains large seconds=280" + together,
				} {
					s.run(command)
				}
				s.gpus.jobs["liar"].claims = claims
				ends := s.untilAllEnd("small", "liar", "large")
				// Of three jobs that compute at equal speeds, the smallest ends after three times its work.
				const bound, round = 1.05, 10.0
				require.LessOrEqual(t, ends["small"], bound*(3*120)+round)
				require.LessOrEqual(t, ends["large"], bound*(120+200+280)+round)
			})
		}
	}
}

// untilAllEnd lets the jobs compute, and deletes each at its end. It returns when they ended, in seconds.
func (s *scenario) untilAllEnd(names ...string) map[string]float64 {
	ends := map[string]float64{}
	for range 400 {
		s.compute(5 * time.Second)
		for _, name := range names {
			j := s.gpus.jobs[name]
			if j == nil {
				continue
			}
			s.requirePossible(name)
			if j.done >= j.total-1e-9 {
				ends[name] = s.now.Sub(s.start).Seconds()
				s.run("delete " + name)
			}
		}
		if len(ends) == len(names) {
			return ends
		}
	}
	require.Fail(s.t, "a job does not end", "%v", ends)
	return nil
}

// requirePossible checks what the node shows of a job's GPU time.
func (s *scenario) requirePossible(name string) {
	e, ok := s.node.Explain("ns/" + name)
	require.True(s.t, ok)
	require.NotNil(s.t, e.GPU)
	between := func(x, low, high float64) {
		require.True(s.t, x >= low && x <= high, "%s: %v is not between %v and %v", name, x, low, high)
	}
	between(float64(e.GPU.Share), 0, 1)
	between(float64(e.GPU.StepCost), 0, 1e6)
	for _, other := range e.GPU.NextTo {
		between(other.Speed.Mean, 0, 1)
	}
	for _, d := range e.GPU.Decisions {
		left := d.Inputs.Remaining
		between(float64(left.Likely), 0, 1e9)
	}
}
