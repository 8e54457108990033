package advise_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/peaks"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/resources"
)

// memory recommends a request of so many MiB for all jobs. With 0 it has not been loaded.
type memory int64

func (m memory) Loaded() bool { return m > 0 }

func (m memory) Recommend(bus.Sample, time.Time) peaks.Recommendation {
	return peaks.Recommendation{Memory: &peaks.Request{Request: int64(m)}}
}

func (memory) Widths(s bus.Sample, _ resources.Pods) []elastic.Measured {
	return []elastic.Measured{{Workers: 1, Rate: s.SamplesPerSecond}}
}

func TestDecide_RecommendsResources(t *testing.T) {
	a := advise.Adviser{Policy: loader.DefaultChangePolicy(), Resources: memory(1024)}
	s := oneCore(job("a", .9, 2), job("b", .9, 0))
	changes := a.Decide(s, start)
	require.Len(t, changes, 2)
	byLoaders, alone := changes[0].Advice, changes[1].Advice
	require.Equal(t, 1, *byLoaders.Loaders)
	require.Equal(t, int64(1), byLoaders.Generation)
	require.Equal(t, int64(1024), byLoaders.Resources.Memory.Request)
	require.Nil(t, alone.Loaders)
	require.Zero(t, alone.Generation, "the job is sent nothing")
	require.Equal(t, int64(1024), alone.Resources.Memory.Request)

	s.Jobs[0].Advice, s.Jobs[1].Advice = byLoaders, alone
	later := start.Add(2 * time.Minute)
	a.Resources = memory(1100)
	require.Empty(t, a.Decide(s, later), "a small difference")
	a.Resources = memory(2048)
	require.Empty(t, a.Decide(s, later.Add(time.Second)), "too early")
	changes = a.Decide(s, later.Add(time.Minute))
	require.Len(t, changes, 2)
	require.Equal(t, byLoaders.Generation, changes[0].Advice.Generation)
	require.Equal(t, byLoaders.Loaders, changes[0].Advice.Loaders)
}

// No node of that size could run a pod that requests more.
func TestDecide_RecommendsNoMoreCPUThanTheNodeHas(t *testing.T) {
	s := oneCore(job("a", .9, 0))
	s.Nodes[0].Load.CPUCapacity = 1000
	a := advise.Adviser{Policy: loader.DefaultChangePolicy(), Resources: cpu(1760)}
	require.Equal(t, int64(1000), a.Decide(s, start)[0].Advice.Resources.CPU.Request)
}

// cpu recommends a request of so many thousandths of a core for all jobs.
type cpu int64

func (cpu) Loaded() bool { return true }

func (c cpu) Recommend(bus.Sample, time.Time) peaks.Recommendation {
	return peaks.Recommendation{CPU: &peaks.Request{Request: int64(c)}}
}

func (cpu) Widths(bus.Sample, resources.Pods) []elastic.Measured { return nil }

// What a job uses is not recommended away for the rest of the period.
func TestDecide_RecommendsMoreAtOnce(t *testing.T) {
	a := advise.Adviser{Policy: loader.DefaultChangePolicy(), Resources: memory(16)}
	s := oneCore(job("a", .9, 0))
	s.Jobs[0].Advice = a.Decide(s, start)[0].Advice
	use := peaks.Profile{}.Add(peaks.Use{Memory: 205}, 10)
	s.Jobs[0].Sample.Profile = &use
	require.Empty(t, a.Decide(s, start.Add(time.Second)), "nothing more is known")
	a.Resources = memory(240)
	changes := a.Decide(s, start.Add(2*time.Second))
	require.Len(t, changes, 1)
	require.Equal(t, int64(240), changes[0].Advice.Resources.Memory.Request)
	s.Jobs[0].Advice = changes[0].Advice
	a.Resources = memory(1024)
	require.Empty(t, a.Decide(s, start.Add(3*time.Second)), "it does not exceed that")
}

// Before the models are loaded, a job's own use is all that is known of it. Advice from more than that stays meanwhile.
func TestDecide_WaitsForWhatWasLearned(t *testing.T) {
	a := advise.Adviser{Policy: loader.DefaultChangePolicy(), Resources: memory(0)}
	s := oneCore(
		job("a", .9, 0, func(j *history.Job) {
			j.Advice = &bus.Advice{Resources: &peaks.Recommendation{Memory: &peaks.Request{Request: 4096}}}
		}),
		job("b", .9, 0, func(j *history.Job) {
			j.Sample.Elastic = &elastic.Range{Low: 1, High: 4}
			j.Sample.SamplesPerSecond = 100
			j.Sample.ETA = &bus.ETA{ETA: gpushare.ETA{Likely: start.Add(2 * time.Hour)}}
		}),
		job("c", .9, 2),
	)
	changes := a.Decide(s, start)
	require.Len(t, changes, 1, "workers are divided at once")
	require.Equal(t, 1, *changes[0].Advice.Loaders)
	require.Nil(t, changes[0].Advice.Resources)
	s.Jobs[2].Advice = changes[0].Advice
	require.Empty(t, a.Decide(s, start.Add(time.Second)))

	a.Resources = memory(1024)
	changes = a.Decide(s, start.Add(2*time.Second))
	require.Len(t, changes, 3, "without a further delay")
	require.Equal(t, int64(1024), changes[0].Advice.Resources.Memory.Request)
	require.Equal(t, 2, changes[1].Advice.Width.Workers)
}
