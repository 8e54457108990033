package efficiency_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
)

const (
	p = growth.Progressing
	w = growth.Watching
	c = growth.Converged
)

// The published algorithms of FlowCon and SpeCon have defects. Each case shows a defect that the classifier avoids. The
// tests of package flowcon cover the defects of the shares.
func TestTracker_AvoidsThePublishedDefects(t *testing.T) {
	exact := efficiency.Config{Alpha: 0.25, Smoothing: 1, PeakDecay: 1}
	steps := func(gains ...float64) []float64 { // a loss that falls by the given gains
		values := []float64{100}
		for _, gain := range gains {
			values = append(values, values[len(values)-1]-gain)
		}
		return values
	}
	for name, tc := range map[string]struct {
		config efficiency.Config
		loss   []float64
		want   []growth.Category
	}{
		"a loss of any scale: large":                         {exact, curve(5, func(i int) float64 { return 1e9 * float64(5-i) }), []growth.Category{p, p, p, p, p}},
		"a loss of any scale: small":                         {exact, curve(5, func(i int) float64 { return 1e-9 * float64(5-i) }), []growth.Category{p, p, p, p, p}},
		"oscillation is no progress":                         {exact, []float64{1, 2, 1, 2, 1, 2}, []growth.Category{p, p, w, w, c, c}},
		"a watching job whose growth stays low converges":    {exact, steps(8, 1, 1, 1, 1), []growth.Category{p, p, p, w, w, c}},
		"a job is demoted by one category at a time":         {exact, steps(8, 0, 0, 0, 0), []growth.Category{p, p, p, w, w, c}},
		"a flat job is demoted":                              {exact, steps(0, 0, 0, 0), []growth.Category{p, p, w, w, c}},
		"a converged job is not demoted further":             {exact, steps(0, 0, 0, 0, 0, 0), []growth.Category{p, p, w, w, c, c, c}},
		"growth of exactly α is not low":                     {exact, steps(8, 2, 2, 2, 2), []growth.Category{p, p, p, p, p, p}},
		"growth of exactly α does not promote a job":         {exact, steps(8, 0, 0, 2, 2, 2), []growth.Category{p, p, p, w, w, w, w}},
		"growth above 1.5·α promotes a job":                  {exact, steps(8, 0, 0, 2, 3, 4), []growth.Category{p, p, p, w, w, w, p}},
		"low samples that are not consecutive do not demote": {exact, steps(8, 0, 2, 0, 2, 0), []growth.Category{p, p, p, p, p, p, p}},
		"growth is relative to the job's own peak":           {exact, steps(1e-6, 1e-6, 1e-6), []growth.Category{p, p, p, p}},
		"a converged job with low growth stays there":        {exact, steps(8, 0, 0, 0, 0, 1, 1), []growth.Category{p, p, p, w, w, c, c, c}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, categories(follow(efficiency.New(tc.config, growth.Minimize), tc.loss)))
		})
	}
}

// The thesis does not specify which resource decides. CPU does; the other efficiencies are published.
func TestTracker_DecidesByCPUAlone(t *testing.T) {
	reads := func(cores, gigabytes, transferred float64) []efficiency.Reading {
		tracker := efficiency.New(efficiency.Config{Smoothing: 1}, growth.Minimize)
		var readings []efficiency.Reading
		for i := range 8 {
			_, _ = tracker.Report(int64(i), 100-8*float64(i))
			seconds := float64(i) * interval.Seconds()
			readings = append(readings, tracker.Tick(start.Add(time.Duration(i)*interval), efficiency.Usage{
				Work: growth.Work(seconds * cores), Known: true, Memory: growth.MiB(gigabytes * 1024),
				BlockIO: int64(seconds * transferred * (1 << 20)), NetworkIO: int64(2 * seconds * transferred * (1 << 20)),
			}))
		}
		return readings
	}
	got := reads(2, 4, 8)[7]
	require.InDelta(t, 0.4, float64(got.Progress), 1e-12, "8 in 20 s")
	require.InDelta(t, 0.2, float64(got.Per.CPU), 1e-12)
	require.InDelta(t, 0.1, got.Per.Memory, 1e-12)
	require.InDelta(t, 0.05, got.Per.BlockIO, 1e-12)
	require.InDelta(t, 0.025, got.Per.NetworkIO, 1e-12)
	require.Equal(t, categories(reads(2, 4, 8)), categories(reads(2, 400, 0)))
	require.Zero(t, reads(2, 0, 0)[7].Per.BlockIO, "unknown usage does not divide by zero")
}

// A job that was moved does not start as Progressing.
func TestTracker_KeepsTheCategoryOfAMovedJob(t *testing.T) {
	resumed := efficiency.Resume(efficiency.Config{}, growth.Minimize, efficiency.State{Category: c})
	require.Equal(t, []growth.Category{c, c, c, c}, categories(follow(resumed, []float64{1, 1, 1, 1})))
}

// The metric starts again without a restart of the job.
func TestTracker_DetectsRelapses(t *testing.T) {
	noise := func(i int) float64 { return 0.02 * math.Sin(float64(7*i*i)) }
	fall := func(from, to float64, i int) float64 { return to + (from-to)*math.Exp(-float64(i)/4) }
	for name, tc := range map[string]struct {
		direction growth.Direction
		metric    func(i int) float64
		at        int  // when the metric starts again
		again     bool // the job is Progressing again
	}{
		"a warm restart of the learning rate": {growth.Minimize, func(i int) float64 { return fall(2, .3, i%40) + noise(i) }, 40, true},
		"a warm restart with a score":         {growth.Maximize, func(i int) float64 { return 1 - fall(.9, .1, i%40)*(1+noise(i)) }, 40, true},
		"a learning rate that steps down":     {growth.Minimize, func(i int) float64 { return fall(2.3, 1, i) - map[bool]float64{true: .4}[i >= 40] + noise(i) }, 40, true},
		"a loss that creeps up is no relapse": {growth.Minimize, func(i int) float64 { return fall(2, .3, i) + max(float64(i-30)/500, 0) + noise(i) }, 40, false},
		"one bad interval is no relapse":      {growth.Minimize, func(i int) float64 { return fall(2, .3, i) + map[bool]float64{true: 5}[i == 40] + noise(i) }, 40, false},
	} {
		t.Run(name, func(t *testing.T) {
			readings := follow(efficiency.New(efficiency.Config{}, tc.direction), curve(80, tc.metric))
			require.Equal(t, c, readings[tc.at-1].Category, "the job has converged before")
			seen := false
			for _, r := range readings[tc.at : tc.at+12] {
				seen = seen || r.Category == p
			}
			require.Equal(t, tc.again, seen)
			require.Equal(t, c, readings[79].Category, "the job converges in the end")
		})
	}
}

// A noisy metric that only falls is almost never taken for a relapse.
func TestTracker_DoesNotMistakeNoiseForARelapse(t *testing.T) {
	for _, amplitude := range []float64{0.01, 0.1, 0.5, 1} {
		relapses := 0
		for seed := range uint64(100) {
			random := rand.New(rand.NewPCG(seed, 7))
			readings := follow(efficiency.New(efficiency.Config{}, growth.Minimize), curve(200, func(i int) float64 {
				return math.Exp(-float64(i)/10) + amplitude*random.NormFloat64()
			}))
			for _, r := range readings {
				if strings.Contains(r.Reason, "fell back") {
					relapses++
				}
			}
		}
		require.LessOrEqual(t, relapses, 40, "of 20,000 samples with noise of %g", amplitude)
	}
}

func TestResume_AcceptsAStateOfAnOlderBuild(t *testing.T) {
	old := efficiency.State{
		Smoothed: .3,
		Best:     .3,
		Last:     .3,
		Peak:     .01,
		Samples:  50,
		Step:     50,
		Category: c,
	}
	readings := follow(efficiency.Resume(efficiency.Config{}, growth.Minimize, old), []float64{.3, .6, .6, .6})
	require.Equal(t, []growth.Category{c, c, c, c}, categories(readings), "without Gained, nothing is a relapse")
}
