package fairfinish

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

func overlaps(limit float64, kind string, delays map[string]float64) Account {
	a := on(limit, "gpu")
	a.Overlap = Overlap{Kind: kind, Delays: delays}
	return a
}

// Worked by hand, in GPU-seconds per second.
func TestOverlappingRates(t *testing.T) {
	for name, tc := range map[string]struct {
		accounts []Account
		want     []float64
	}{
		"alone": {[]Account{overlaps(1, "a", nil)}, []float64{1}},
		"a pair that is faster than in turns": {
			[]Account{overlaps(1, "a", map[string]float64{"b": .25}), overlaps(1, "b", map[string]float64{"a": 1})},
			[]float64{.8, .5},
		},
		"a pair that is slower than in turns": {
			[]Account{overlaps(1, "a", map[string]float64{"b": 1.5}), overlaps(1, "b", map[string]float64{"a": 1.5})},
			[]float64{.4, .4},
		},
		"delays of 1 are processor sharing": {
			[]Account{overlaps(1, "a", map[string]float64{"a": 1}), overlaps(1, "a", map[string]float64{"a": 1}), overlaps(1, "a", map[string]float64{"a": 1})},
			[]float64{1. / 3, 1. / 3, 1. / 3},
		},
		"a job that waits for data delays less": {
			[]Account{overlaps(1, "a", map[string]float64{"b": 1}), overlaps(.25, "b", map[string]float64{"a": 1})},
			[]float64{.8, .25},
		},
		"weights have no effect": {
			[]Account{
				{Weight: 9, Limit: 1, On: []growth.GPU{"gpu"}, Overlap: Overlap{Kind: "a", Delays: map[string]float64{"b": 1}}},
				overlaps(1, "b", map[string]float64{"a": 1}),
			},
			[]float64{.5, .5},
		},
		"one pair was not measured: processor sharing": {
			[]Account{overlaps(1, "a", map[string]float64{"b": .25}), overlaps(1, "b", nil)},
			[]float64{.5, .5},
		},
		"a job without overlap: processor sharing": {
			[]Account{overlaps(1, "a", map[string]float64{"": .25}), on(1, "gpu")},
			[]float64{.5, .5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.InDeltaSlice(t, tc.want, fairRates(tc.accounts, 9), 1e-9)
		})
	}
}

// Two equal jobs are predicted to end at the same time. Next to each other both make 0.8 of their steps, so plain sharing ends
// both after 10 s / 0.8. When one of them has ended the other is alone.
func TestDecide_ReferenceIsMeasuredWhereKernelsOverlap(t *testing.T) {
	c := Config{Objective: Finish, Floor: DefaultFloor, Interval: time.Second, Cores: growth.Core, Unit: growth.GPUSecond}
	job := func(id growth.PodUID, size growth.Work, delay float64) Job {
		e := remaining.Exact(size)
		e.Unit = growth.GPUSecond
		return Job{
			ID:        id,
			On:        []growth.GPU{"gpu"},
			Weight:    1,
			Limit:     growth.Core,
			Remaining: e,
			ToTarget:  e,
			Overlap:   Overlap{Kind: "a", Delays: map[string]float64{"a": delay}},
		}
	}
	for name, tc := range map[string]struct {
		sizes  [2]growth.Work
		delay  float64
		finish [2]float64
	}{
		"faster together":     {[2]growth.Work{10, 10}, .25, [2]float64{12.5, 12.5}},
		"as fast as in turns": {[2]growth.Work{10, 10}, 1, [2]float64{20, 20}},
		"slower together":     {[2]growth.Work{10, 10}, 1.5, [2]float64{25, 25}},
		"one ends first":      {[2]growth.Work{10, 18}, .25, [2]float64{12.5, 20.5}},
	} {
		t.Run(name, func(t *testing.T) {
			jobs := []Job{job("a", tc.sizes[0], tc.delay), job("b", tc.sizes[1], tc.delay)}
			_, d := Decide(c, State{}, time.Unix(1, 0), jobs)
			require.InDelta(t, tc.finish[0], float64(d.Grants[0].FairFinish), 1e-6)
			require.InDelta(t, tc.finish[1], float64(d.Grants[1].FairFinish), 1e-6)
		})
	}
}
