package interference_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

func kind(n int) interference.Kind { return interference.KindOf("test", fmt.Sprint(n)) }

// job returns a member of a set with a slowdown.
func job(n int, slowdown float64) interference.Member {
	return interference.Member{Kind: kind(n), Activity: 1, Speed: 1 / slowdown}
}

func observe(t *testing.T, l *interference.Learner, set ...interference.Member) {
	t.Helper()
	require.NoError(t, l.Observe(interference.Measurement{Set: set, Seconds: 90}))
}

func TestLearner_StartsWithThePrior(t *testing.T) {
	m := interference.NewLearner(interference.Prior()).Model()
	for _, activity := range []growth.Share{0.1, 0.5, 1} {
		own := interference.Member{Kind: kind(1), Activity: activity}
		other := interference.Member{Activity: 0.5}
		require.Equal(t, interference.Prior().Slowdown(activity, 0.5), m.Predict(own, []interference.Member{other}))
	}
	require.Equal(t, growth.Slowdown(1), m.Predict(job(1, 1), nil).Mean, "alone")
}

// A measurement of other kinds changes what is expected of unknown ones, and leaves the form of the prediction.
func TestLearner_FewMeasurementsStayCloseToThePrior(t *testing.T) {
	l := interference.NewLearner(interference.Prior())
	require.NoError(t, l.Observe(interference.Measurement{Set: []interference.Member{job(1, 2), job(2, 2)}, Seconds: 1}))
	p := l.Model().Predict(job(3, 1), []interference.Member{job(4, 1)})
	require.InDelta(t, 1.31, float64(p.Mean), 0.3)
	require.Greater(t, p.Deviation, growth.Slowdown(0.1))
}

func TestLearner_LearnsWhatItMeasures(t *testing.T) {
	l := interference.NewLearner(interference.Prior())
	for range 10 {
		observe(t, l, job(1, 1.2), job(2, 1.9))
		observe(t, l, job(1, 2.1), job(2, 3.1), job(3, 1.1))
	}
	m := l.Model()
	for name, tc := range map[string]struct {
		own    int
		others []int
		want   float64
	}{
		"a pair":                       {1, []int{2}, 1.2},
		"the other job":                {2, []int{1}, 1.9},
		"a triple":                     {1, []int{2, 3}, 2.1},
		"the same in another order":    {1, []int{3, 2}, 2.1},
		"a job that is hardly slowed":  {3, []int{1, 2}, 1.1},
		"a job that is slowed by both": {2, []int{3, 1}, 3.1},
	} {
		t.Run(name, func(t *testing.T) {
			var others []interference.Member
			for _, o := range tc.others {
				others = append(others, interference.Member{Kind: kind(o)})
			}
			p := m.Predict(interference.Member{Kind: kind(tc.own)}, others)
			require.InEpsilon(t, tc.want, float64(p.Mean), 0.05)
			require.LessOrEqual(t, float64(p.Low), tc.want*1.02)
			require.GreaterOrEqual(t, float64(p.High), tc.want/1.02)
		})
	}
}

// Jobs 1 to 5 are slowed down by different factors, and slow others down by different factors. What is not measured
// follows from that.
func TestLearner_PredictsUnseenPairsAndTriples(t *testing.T) {
	excess := func(own int, others ...int) (sum float64) {
		for _, o := range others {
			sum += 0.1 * float64(own) * (0.5 + float64(o)/3)
		}
		return sum
	}
	l := interference.NewLearner(interference.Prior())
	for range 3 {
		for a := 1; a <= 5; a++ {
			for b := a + 1; b <= 5; b++ {
				if a != 2 || b != 4 {
					observe(t, l, job(a, 1+excess(a, b)), job(b, 1+excess(b, a)))
				}
			}
		}
	}
	m := l.Model()
	for _, set := range [][]int{{2, 4}, {4, 2}, {1, 2, 3}, {5, 4, 1}, {2, 4, 5}, {1, 2, 3, 4}} {
		var others []interference.Member
		for _, o := range set[1:] {
			others = append(others, job(o, 1))
		}
		p := m.Predict(job(set[0], 1), others)
		require.InEpsilon(t, 1+excess(set[0], set[1:]...), float64(p.Mean), 0.1, "%d", set)
		slices.Reverse(others)
		require.Equal(t, p, m.Predict(job(set[0], 1), others), "the order of a set has no meaning")
	}
}

func TestLearner_AnUnknownKindIsLessCertainThanAMeasuredOne(t *testing.T) {
	l := interference.NewLearner(interference.Prior())
	for range 5 {
		observe(t, l, job(1, 1.5), job(2, 1.5))
	}
	m := l.Model()
	known, unknown := m.Predict(job(1, 1), []interference.Member{job(2, 1)}), m.Predict(job(7, 1), []interference.Member{job(8, 1)})
	require.Less(t, known.Deviation, unknown.Deviation)
	require.Greater(t, unknown.Cautious(), known.Cautious())
}

// A job whose activity is half of its kind's has half of the excess.
func TestModel_PredictFollowsTheActivityOfTheJob(t *testing.T) {
	l := interference.NewLearner(interference.Prior())
	for range 20 {
		observe(t, l, job(1, 2), job(2, 2))
	}
	half := interference.Member{Kind: kind(1), Activity: 0.5}
	require.InDelta(t, 1.5, float64(l.Model().Predict(half, []interference.Member{{Kind: kind(2)}}).Mean), 0.05)
	require.InDelta(t, 1.5, float64(l.Model().Predict(interference.Member{Kind: kind(2)}, []interference.Member{half}).Mean), 0.05)
}

func TestLearner_ForgetsWhatHasChanged(t *testing.T) {
	l := interference.NewLearner(interference.Prior())
	for range 100 {
		observe(t, l, job(1, 1.2), job(2, 1.2))
	}
	for range 60 {
		observe(t, l, job(1, 2), job(2, 2))
	}
	require.InEpsilon(t, 2, float64(l.Model().Predict(job(1, 1), []interference.Member{job(2, 1)}).Mean), 0.1)
}

// One node reports garbage about one pair of kinds. Predictions of other pairs hardly change.
func TestLearner_FalseMeasurementsDoBoundedHarm(t *testing.T) {
	learn := func(poison int, speed float64) interference.Model {
		rng := rand.New(rand.NewPCG(1, 2))
		l := interference.NewLearner(interference.Prior())
		for range 5 {
			for a := 1; a <= 6; a++ {
				for b := a + 1; b <= 6; b++ {
					observe(t, l, job(a, 1.4+0.02*rng.NormFloat64()), job(b, 1.4+0.02*rng.NormFloat64()))
				}
			}
		}
		for range poison {
			observe(t, l, interference.Member{Kind: kind(1), Speed: speed}, interference.Member{Kind: kind(2), Speed: speed})
		}
		return l.Model()
	}
	honest := learn(0, 1)
	for _, speed := range []float64{1e-9, interference.MaxSpeed} {
		once, often := learn(1, speed), learn(200, speed)
		same := []interference.Member{job(2, 1)}
		require.InEpsilon(t, float64(honest.Predict(job(1, 1), same).Mean), float64(once.Predict(job(1, 1), same).Mean), 0.05,
			"one false measurement of the pair itself, speed %g", speed)
		for _, pair := range [][2]int{{1, 3}, {3, 1}, {3, 4}, {7, 8}, {2, 7}} {
			other := []interference.Member{job(pair[1], 1)}
			want, got := honest.Predict(job(pair[0], 1), other).Mean, often.Predict(job(pair[0], 1), other).Mean
			require.InEpsilon(t, float64(want), float64(got), 0.1, "pair %d, speed %g", pair, speed)
		}
	}
}

func TestLearner_RefusesInvalidMeasurements(t *testing.T) {
	l := interference.NewLearner(interference.Prior())
	require.ErrorContains(t, l.Observe(interference.Measurement{Set: []interference.Member{job(1, 1)}, Seconds: 1}), "a set of 1 jobs")
	require.NoError(t, l.Observe(interference.Measurement{Set: []interference.Member{job(1, 1), {Speed: 1}}, Seconds: 1}))
	require.Empty(t, l.State().Pairs, "a job of unknown kind teaches nothing")
}

func TestLearner_IsBounded(t *testing.T) {
	l := interference.NewLearner(interference.Prior())
	for range 20 {
		observe(t, l, job(1, 1.5), job(2, 1.5))
	}
	for n := range 3 * interference.MaxPairs {
		observe(t, l, job(10+n, 1.1), job(11+n, 1.1))
	}
	s := l.State()
	require.LessOrEqual(t, len(s.Pairs), interference.MaxPairs)
	require.LessOrEqual(t, len(s.Kinds), interference.MaxKinds)
	encoded, err := json.Marshal(s)
	require.NoError(t, err)
	require.Less(t, len(encoded), 1<<19, "half of what a record may have")
	require.True(t, slices.ContainsFunc(s.Kinds, func(k interference.KindState) bool { return k.Kind == kind(1) }),
		"what is best known stays")
}

// Each pair is measured once, for a short time, and precisely. Intervals are about what a pair has of its own, and not about noise.
func TestLearner_ShortMeasurementsAreNoReasonForNarrowIntervals(t *testing.T) {
	const kinds = 9
	dice := rand.New(rand.NewPCG(1, 1))
	covered, all := 0, 0
	for range 5 {
		var pairs [][2]interference.Member
		for a := range kinds {
			for b := range a {
				measured := func(n int) interference.Member {
					m := job(n, 1+0.6*math.Exp(0.2*dice.NormFloat64()))
					m.Deviation = 0.001
					return m
				}
				pairs = append(pairs, [2]interference.Member{measured(a), measured(b)})
			}
		}
		for left, unseen := range pairs {
			l := interference.NewLearner(interference.Prior())
			for i, p := range pairs {
				if i != left {
					require.NoError(t, l.Observe(interference.Measurement{Set: p[:], Seconds: 3.5}))
				}
			}
			for own := range unseen {
				p := l.Model().Predict(unseen[own], []interference.Member{unseen[1-own]})
				all++
				if s := growth.Slowdown(1 / unseen[own].Speed); p.Low <= s && s <= p.High {
					covered++
				}
			}
		}
	}
	require.InDelta(t, 0.8, float64(covered)/float64(all), 0.1)
}

func TestRestore_ContinuesFromAState(t *testing.T) {
	l := interference.NewLearner(interference.Prior())
	for n := range 40 {
		observe(t, l, job(n%5, 1.5), job(n%7, 1.2), job(n%3, 1.1))
		observe(t, l, job(n%5, 1.3), job(n%4, 1.2))
	}
	restored, err := interference.Restore(interference.Prior(), l.State())
	require.NoError(t, err)
	require.Equal(t, l.State(), restored.State())
	for own := range 9 {
		a := l.Model().Predict(job(own, 1), []interference.Member{job(1, 1), job(2, 1)})
		b := restored.Model().Predict(job(own, 1), []interference.Member{job(1, 1), job(2, 1)})
		require.InDelta(t, float64(a.Mean), float64(b.Mean), 0.01)
		require.InDelta(t, float64(a.Deviation), float64(b.Deviation), 0.01)
	}
}

func TestRestore_RefusesInvalidStates(t *testing.T) {
	valid := func() interference.State {
		return interference.State{
			Observations: 2,
			Kinds:        []interference.KindState{{Kind: kind(1), Activity: 1, Weight: 1}, {Kind: kind(2)}},
			Pairs:        []interference.PairState{{Own: 0, Others: []int{1}, Variance: 0.1, Weight: 1, Last: 2}},
		}
	}
	for name, tc := range map[string]struct {
		change func(*interference.State)
		want   string
	}{
		"valid":                    {func(*interference.State) {}, ""},
		"a kind twice":             {func(s *interference.State) { s.Kinds[1].Kind = kind(1) }, "give each kind once"},
		"a foreign kind":           {func(s *interference.State) { s.Kinds[1].Kind = "lstm" }, "16 hexadecimal digits"},
		"an activity above 1":      {func(s *interference.State) { s.Kinds[0].Activity = 2 }, "activity 2"},
		"a kind that is not there": {func(s *interference.State) { s.Pairs[0].Others[0] = 2 }, "kind number 2 of 2"},
		"a negative kind":          {func(s *interference.State) { s.Pairs[0].Own = -1 }, "kind number -1 of 2"},
		"no other job":             {func(s *interference.State) { s.Pairs[0].Others = nil }, "0 other jobs"},
		"eight other jobs":         {func(s *interference.State) { s.Pairs[0].Others = make([]int, 8) }, "8 other jobs"},
		"an endless mean":          {func(s *interference.State) { s.Pairs[0].Mean = math.Inf(1) }, "mean +Inf"},
		"no variance":              {func(s *interference.State) { s.Pairs[0].Variance = 0 }, "variance 0"},
		"no weight":                {func(s *interference.State) { s.Pairs[0].Weight = 0 }, "weight 0"},
		"a weight above all":       {func(s *interference.State) { s.Pairs[0].Weight = 1e9 }, "weight 1e+09"},
		"the future":               {func(s *interference.State) { s.Pairs[0].Last = 3 }, "later than the last"},
		"a pair twice":             {func(s *interference.State) { s.Pairs = append(s.Pairs, s.Pairs[0]) }, "occurs twice"},
		"too many pairs":           {func(s *interference.State) { s.Pairs = make([]interference.PairState, 5000) }, "at most 2048 and 4096"},
	} {
		t.Run(name, func(t *testing.T) {
			s := valid()
			tc.change(&s)
			_, err := interference.Restore(interference.Prior(), s)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestModel_Reports(t *testing.T) {
	l := interference.NewLearner(interference.Prior())
	require.Empty(t, l.Model().Kinds())
	for range 10 {
		observe(t, l, job(1, 1.2), job(2, 1.8), job(3, 1.5))
		observe(t, l, job(1, 1.1), job(2, 1.4))
	}
	m := l.Model()
	require.Len(t, m.Kinds(), 3)
	pairs := m.Pairs()
	require.Len(t, pairs, 5)
	require.Len(t, pairs[0].Others, 1, "pairs come first")
	for _, p := range pairs {
		require.InDelta(t, float64(p.Measured), float64(p.Predicted.Mean), 0.1)
		require.InDelta(t, 9, p.Observations, 0.1)
	}
}

// Any measurements and any state: no panic, and every prediction is a number of at least 1.
func FuzzLearner(f *testing.F) {
	f.Add([]byte(`[{"set":[{"kind":"0123456789abcdef","speed":0.5},{"kind":"0123456789abcdee","speed":1.5}],"seconds":3}]`), []byte(`{}`))
	f.Add([]byte(`[]`), []byte(`{"observations":3,"kinds":[{"kind":"0123456789abcdef"}],"pairs":[{"own":0,"others":[0],"variance":4,"weight":1}]}`))
	f.Fuzz(func(t *testing.T, measurements, state []byte) {
		var all []interference.Measurement
		var stored interference.State
		if json.Unmarshal(measurements, &all) != nil || json.Unmarshal(state, &stored) != nil || len(all) > 50 || len(stored.Pairs) > 50 {
			return
		}
		l, err := interference.Restore(interference.Prior(), stored)
		if err != nil {
			return
		}
		for _, m := range all {
			if l.Observe(m) != nil {
				continue
			}
			for i, own := range m.Set {
				p := l.Model().Predict(own, slices.Delete(slices.Clone(m.Set), i, i+1))
				for _, x := range []growth.Slowdown{p.Mean, p.Low, p.High, p.Deviation + 1} {
					require.False(t, !(x >= 1) || math.IsInf(float64(x), 0), "%+v", p)
				}
			}
		}
		_, err = interference.Restore(interference.Prior(), l.State())
		require.NoError(t, err, "a learner's own state is valid")
	})
}

func BenchmarkLearner_Model(b *testing.B) {
	l := interference.NewLearner(interference.Prior())
	rng := rand.New(rand.NewPCG(1, 1))
	for len(l.State().Pairs) < interference.MaxPairs-200 {
		for range 50 {
			set := []interference.Member{job(rng.IntN(100), 1.1), job(rng.IntN(100), 1.5), job(rng.IntN(100), 1.2)}[:2+rng.IntN(2)]
			_ = l.Observe(interference.Measurement{Set: set, Seconds: 60})
		}
	}
	for b.Loop() {
		_ = l.Observe(interference.Measurement{Set: []interference.Member{job(1, 1.1), job(2, 1.2)}, Seconds: 60})
		l.Model()
	}
}

// Placement predicts for every GPU of a cluster.
func TestModel_PredictDoesNotAllocateForPairs(t *testing.T) {
	l := interference.NewLearner(interference.Prior())
	for n := range 20 {
		observe(t, l, job(n%5, 1.5), job(n%4, 1.2))
	}
	m, own, others := l.Model(), job(1, 1), []interference.Member{job(2, 1), job(9, 1)}
	require.Zero(t, testing.AllocsPerRun(100, func() { m.Predict(own, others[:1]) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { m.Predict(own, others) }))
}

func BenchmarkModel_Predict(b *testing.B) {
	l := interference.NewLearner(interference.Prior())
	for n := range 100 {
		_ = l.Observe(interference.Measurement{Set: []interference.Member{job(n%9, 1.1), job(n%7, 1.2)}, Seconds: 60})
	}
	m, own, others := l.Model(), job(1, 1), []interference.Member{job(2, 1), job(3, 1), job(77, 1)}
	for b.Loop() {
		m.Predict(own, others)
	}
}
