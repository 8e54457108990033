package predict_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/predict"
)

// spread returns a number from -1 to 1 that depends on n without a pattern.
func spread(n int) float64 {
	hash := fnv.New64a()
	fmt.Fprint(hash, n)
	return rand.New(rand.NewPCG(hash.Sum64(), 0)).Float64()*2 - 1
}

// jobs returns samples of jobs whose times are proportional to batch size and parameters. Each job is faster or slower by
// up to a quarter, each sample by up to 5 %.
func jobs(from, to int) (samples []predict.Sample) {
	for n := from; n < to; n++ {
		j := predict.Job{
			Batch:  64 * (2 + spread(3*n+1)),
			Params: 1e7 * math.Exp(2*spread(5*n+2)),
		}
		j.FLOPs = 7 * j.Params
		for i := range 6 {
			a := predict.Allocation{CPU: 1, Memory: 1.5}
			if i >= 3 {
				a.CPU = 0.5
			}
			seconds := 1e-9 * j.Batch * j.Params / math.Sqrt(a.CPU) * math.Exp(0.25*spread(7*n+3)+0.05*spread(11*n+13*i))
			samples = append(samples, predict.Sample{Job: j, Observation: predict.Observation{Allocation: a, Seconds: growth.Seconds(seconds)}})
		}
	}
	return samples
}

// judge predicts the last of six samples of each job, after some of those before it.
func judge(t *testing.T, m *predict.Model, samples []predict.Sample, seen int) (meanError, covered float64) {
	t.Helper()
	count := float64(len(samples) / 6)
	for n := 0; n < len(samples); n += 6 {
		last := samples[n+5]
		var observed []predict.Observation
		for i := range seen {
			observed = append(observed, samples[n+4-i].Observation)
		}
		p, known := m.Predict(last.Job, last.Allocation, observed...)
		require.True(t, known)
		meanError += math.Abs(float64(p.Seconds/last.Seconds)-1) / count
		if p.Low <= last.Seconds && last.Seconds <= p.High {
			covered += 1 / count
		}
	}
	return meanError, covered
}

func TestPredict_UnseenJobs(t *testing.T) {
	m := predict.Learn(jobs(0, 100))
	unseen := jobs(100, 200)
	for _, tc := range []struct {
		name string
		seen int
		most float64
	}{
		{"before the first iteration", 0, 0.25},
		{"after one", 1, 0.05},
		{"after two, under the same allocation", 2, 0.04},
		{"after five, three of them under another allocation", 5, 0.04},
	} {
		t.Run(tc.name, func(t *testing.T) {
			failure, covered := judge(t, m, unseen, tc.seen)
			require.Less(t, failure, tc.most)
			require.InDelta(t, 0.8, covered, 0.15)
		})
	}
}

func TestPredict_UsesObservationsUnderAnotherAllocation(t *testing.T) {
	samples := jobs(0, 40)
	m := predict.Learn(samples)
	slow := samples[0]
	before, _ := m.Predict(slow.Job, predict.Allocation{CPU: 0.5, Memory: 1.5})
	slow.Seconds *= 3
	after, _ := m.Predict(slow.Job, predict.Allocation{CPU: 0.5, Memory: 1.5}, slow.Observation)
	require.Greater(t, after.Seconds, 2*before.Seconds)
	require.Greater(t, after.Low, before.Low)
}

func TestPredict_NeedsTwoJobs(t *testing.T) {
	for _, samples := range [][]predict.Sample{nil, jobs(0, 1)} {
		m := predict.Learn(samples)
		require.Equal(t, len(samples)/6, m.Jobs())
		_, known := m.Predict(predict.Job{Batch: 1}, predict.Allocation{})
		require.False(t, known)
	}
	_, known := predict.Learn(jobs(0, 2)).Predict(predict.Job{}, predict.Allocation{})
	require.True(t, known)
}

func TestPredict_UnknownFeatures(t *testing.T) {
	m := predict.Learn(jobs(0, 40))
	known, _ := m.Predict(predict.Job{Batch: 128, Params: 1e7, FLOPs: 7e7}, predict.Allocation{CPU: 1, Memory: 1.5})
	for name, j := range map[string]predict.Job{
		"no operations": {Batch: 128, Params: 1e7},
		"none":          {},
		"NaN":           {Batch: math.NaN(), Params: math.Inf(1), FLOPs: -1},
	} {
		t.Run(name, func(t *testing.T) {
			p, ok := m.Predict(j, predict.Allocation{})
			require.True(t, ok)
			require.Less(t, p.Low, known.High)
			require.Greater(t, p.High, known.Low)
		})
	}
}

func TestLearn_IsDeterministic(t *testing.T) {
	require.Equal(t, predict.Learn(jobs(0, 20)), predict.Learn(jobs(0, 20)))
}

// TestLearn_BoundsTheInfluenceOfFalseSamples: every tenth job reports times that are false by a factor of up to a million.
func TestLearn_BoundsTheInfluenceOfFalseSamples(t *testing.T) {
	samples := jobs(0, 100)
	for n := range samples {
		if job := n / 6; job%10 == 0 {
			samples[n].Seconds *= growth.Seconds(math.Pow(10, float64(job%60-30)/5))
		}
	}
	failure, covered := judge(t, predict.Learn(samples), jobs(100, 200), 0)
	require.Less(t, failure, 0.6)
	require.Greater(t, covered, 0.75)
}

func TestLearn_IgnoresInvalidTimes(t *testing.T) {
	samples := jobs(0, 20)
	poisoned := samples
	for _, s := range []growth.Seconds{0, -1, growth.Seconds(math.NaN()), growth.Seconds(math.Inf(1)), 1e300} {
		poisoned = append(poisoned, predict.Sample{Job: samples[0].Job, Observation: predict.Observation{Seconds: s}})
	}
	require.Equal(t, predict.Learn(samples), predict.Learn(poisoned))
}

// TestPredict_BoundsOneObservation: one false observation moves a prediction by a bounded factor. Several that agree are
// believed.
func TestPredict_BoundsOneObservation(t *testing.T) {
	m := predict.Learn(jobs(0, 100))
	s := jobs(100, 101)[0]
	before, _ := m.Predict(s.Job, s.Allocation)
	s.Seconds = 1e6
	one, _ := m.Predict(s.Job, s.Allocation, s.Observation)
	require.Less(t, one.Seconds, 10*before.Seconds)
	var many []predict.Observation
	for range 30 {
		many = append(many, s.Observation)
	}
	all, _ := m.Predict(s.Job, s.Allocation, many...)
	require.Greater(t, all.Seconds, growth.Seconds(5e5))
}

// TestLearn_BoundsWhatItKeeps: more jobs than a model remembers.
func TestLearn_BoundsWhatItKeeps(t *testing.T) {
	var samples []predict.Sample
	for n := range 2500 {
		samples = append(samples, predict.Sample{
			Job:         predict.Job{Batch: float64(n + 1)},
			Observation: predict.Observation{Seconds: growth.Seconds(n + 1)},
		})
	}
	require.Equal(t, 2000, predict.Learn(samples).Jobs())
}

// FuzzPredict: any sample and any observation next to plausible ones give a finite prediction in order.
func FuzzPredict(f *testing.F) {
	f.Add(128.0, 7e7, 1e7, 1.0, 1.5, 0.1, 0.2)
	f.Add(0.0, math.NaN(), math.Inf(1), -1.0, 0.0, 1e300, -1e300)
	f.Add(1e308, 1e-308, 5e-324, 1e308, 1e-308, 1e-6, 1e6)
	f.Fuzz(func(t *testing.T, batch, flops, params, cpu, memory, learned, seen float64) {
		j, a := predict.Job{Batch: batch, FLOPs: flops, Params: params}, predict.Allocation{CPU: cpu, Memory: memory}
		samples := jobs(0, 4)
		for range 3 {
			samples = append(samples, predict.Sample{Job: j, Observation: predict.Observation{Allocation: a, Seconds: growth.Seconds(learned)}})
		}
		m := predict.Learn(samples)
		for _, job := range []predict.Job{j, samples[0].Job, {}} {
			p, known := m.Predict(job, a, predict.Observation{Allocation: a, Seconds: growth.Seconds(seen)}, samples[0].Observation)
			if !known || !(p.Low > 0 && p.Low <= p.Seconds && p.Seconds <= p.High && p.High <= 1e6) {
				t.Fatalf("%+v is predicted as %+v", job, p)
			}
		}
	})
}

func BenchmarkLearn(b *testing.B) {
	samples := jobs(0, 300) // two allocations each
	for b.Loop() {
		predict.Learn(samples)
	}
}
