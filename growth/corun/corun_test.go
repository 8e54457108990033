package corun_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
)

// table has pairs of kinds that were measured for a minute, without deviation. Both jobs of a pair are equally fast.
func table(pairs map[string]float64) *corun.Table {
	t := &corun.Table{}
	for pair, speed := range pairs {
		a, b := corun.Kind(pair[:1]), corun.Kind(pair[1:])
		t.Entries = append(t.Entries, corun.Entry{Own: a, Others: []corun.Kind{b}, Speed: corun.Speed{Mean: speed, Seconds: 60}})
		if a != b {
			t.Entries = append(t.Entries, corun.Entry{Own: b, Others: []corun.Kind{a}, Speed: corun.Speed{Mean: speed, Seconds: 60}})
		}
	}
	return t
}

func TestChoose(t *testing.T) {
	job := func(kind corun.Kind, share float64) corun.Job {
		return corun.Job{Kind: kind, Share: growth.Share(share)}
	}
	for name, tc := range map[string]struct {
		pairs map[string]float64
		jobs  []corun.Job
		sets  [][]int
		work  float64
		plain float64
	}{
		"nothing is known":                     {nil, []corun.Job{job("a", .5), job("b", .5)}, nil, 1, 1},
		"a pair with gaps":                     {map[string]float64{"ab": .9}, []corun.Job{job("a", .5), job("b", .5)}, [][]int{{0, 1}}, 1.8, 1.8},
		"a pair that is as fast as turns":      {map[string]float64{"ab": .5}, []corun.Job{job("a", .5), job("b", .5)}, nil, 1, 1},
		"a pair that is slower than turns":     {map[string]float64{"ab": .4}, []corun.Job{job("a", .5), job("b", .5)}, nil, 1, .8},
		"the first would lose 10 %":            {map[string]float64{"ab": .9}, []corun.Job{job("a", 1), job("b", 0)}, nil, 1, 1.8},
		"the first loses 4 %":                  {map[string]float64{"ab": .96}, []corun.Job{job("a", 1), job("b", 0)}, [][]int{{0, 1}}, 1.92, 1.92},
		"one of three does not fit":            {map[string]float64{"ab": .9, "ac": .5, "bc": .5}, []corun.Job{job("a", .25), job("b", .25), job("c", .5)}, [][]int{{0, 1}}, 1.286, 1.281},
		"three fit":                            {map[string]float64{"ab": .9, "ac": .9, "bc": .9}, []corun.Job{job("a", .4), job("b", .3), job("c", .3)}, [][]int{{0, 1, 2}}, 2.4545, 2.4545},
		"the best pairs of four":               {map[string]float64{"ab": .6, "ac": .9, "ad": .55, "bc": .55, "bd": .8, "cd": .5}, []corun.Job{job("a", .25), job("b", .25), job("c", .25), job("d", .25)}, [][]int{{0, 2}, {1, 3}}, 1.694, 1.42},
		"two jobs of one kind":                 {map[string]float64{"aa": .8}, []corun.Job{job("a", .5), job("a", .5)}, [][]int{{0, 1}}, 1.6, 1.6},
		"a pair of which one share is unknown": {map[string]float64{"ab": .9}, []corun.Job{job("a", .5), job("b", .3), job("c", .2)}, [][]int{{0, 1}}, 1.588, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := corun.Choose(table(tc.pairs), tc.jobs, 0)
			require.ElementsMatch(t, tc.sets, c.Sets)
			require.InDelta(t, tc.work, c.Work, .01)
			require.InDelta(t, tc.plain, c.Plain, .01)
		})
	}
}

func TestTable_Add(t *testing.T) {
	table := &corun.Table{}
	b := []corun.Kind{"b"}
	_, known := table.Predict("a", b)
	require.False(t, known)
	table.Add("a", b, .8, 1)
	_, known = table.Predict("a", b)
	require.False(t, known, "one second is too short")
	table.Add("a", b, .9, 9)
	s, known := table.Predict("a", b)
	require.True(t, known)
	require.InDelta(t, .89, s.Mean, 1e-9)
	require.Less(t, s.Cautious(), .89)
	for range 100 {
		table.Add("a", b, .5, 10)
	}
	s, _ = table.Predict("a", b)
	require.InDelta(t, .5, s.Mean, .01, "jobs have changed")
	for _, speed := range []float64{0, -1, 5, math.NaN(), math.Inf(1)} {
		table.Add("a", b, speed, 10)
	}
	require.InDelta(t, .5, s.Mean, .01, "impossible speeds are ignored")
	require.True(t, table.Valid())
	for i := range 1000 {
		table.Add("a", []corun.Kind{corun.Kind(rune('A' + i))}, .5, 10)
	}
	require.LessOrEqual(t, len(table.Entries), 256)
}

// A speed of 0.8 next to one other job, and what is known of it later.
func TestTable_Ages(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		age       time.Duration
		doubted   bool
		deviation float64
		old       bool
		then      float64 // the mean after a measurement of 0.4
	}{
		"at once":             {0, false, 0, false, .769},
		"after an hour":       {time.Hour, false, .04, true, .743},
		"after a day":         {24 * time.Hour, false, .2, true, .4},
		"the job has changed": {0, true, .098, true, .463},
		"a clock set back":    {-time.Hour, false, 0, false, .769},
	} {
		t.Run(name, func(t *testing.T) {
			table := &corun.Table{Now: now}
			table.Add("a", []corun.Kind{"b"}, .8, 120)
			table.Now = now.Add(tc.age)
			if tc.doubted {
				table.Doubt("b")
			}
			s, known := table.Predict("a", []corun.Kind{"b"})
			require.True(t, known)
			require.InDelta(t, .8, s.Mean, 1e-9)
			require.InDelta(t, tc.deviation, s.Deviation, .005)
			require.Equal(t, tc.old, table.Old("a", "b"))
			table.Add("a", []corun.Kind{"b"}, .4, 10)
			s, _ = table.Predict("a", []corun.Kind{"b"})
			require.InDelta(t, tc.then, s.Mean, .01)
			require.False(t, table.Old("a", "b"))
		})
	}
}

func TestTable_AtLeast(t *testing.T) {
	table := &corun.Table{}
	add := func(speed float64, others ...corun.Kind) {
		table.Entries = append(table.Entries, corun.Entry{Own: "a", Others: others, Speed: corun.Speed{Mean: speed, Seconds: 60}})
	}
	add(.3, "b", "b", "c")
	add(.4, "b", "c")
	add(.2, "d")
	for name, tc := range map[string]struct {
		others []corun.Kind
		speed  float64 // 0 if unknown
	}{
		"it was measured itself":       {[]corun.Kind{"c", "b"}, .4},
		"the fastest of several":       {[]corun.Kind{"c"}, .4},
		"each kind as often":           {[]corun.Kind{"b", "b"}, .3},
		"more of a kind than measured": {[]corun.Kind{"c", "c"}, 0},
		"a pair that was not measured": {[]corun.Kind{"c", "d"}, 0},
		"a kind that was not measured": {[]corun.Kind{"e"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			speed, known := table.AtLeast("a", tc.others)
			require.Equal(t, tc.speed > 0, known)
			require.InDelta(t, tc.speed, speed, 1e-9)
		})
	}
}

// No job gets less than 95 % of what it would get in turns, for any measurement.
func FuzzChoose(f *testing.F) {
	f.Add([]byte{200, 100, 50, 220, 240, 130, 90, 255, 1, 3, 77})
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 0
		next := func() float64 {
			at++
			return float64(data[at%len(data)]^byte(at)) / 255
		}
		if len(data) == 0 {
			return
		}
		table := &corun.Table{}
		var jobs []corun.Job
		sum := 0.0
		for i := range 2 + len(data)%6 {
			j := corun.Job{Kind: corun.Kind(rune('a' + i)), Share: growth.Share(next())}
			sum += float64(j.Share)
			for k := range i {
				table.Add(j.Kind, []corun.Kind{jobs[k].Kind}, next(), 30)
				table.Add(jobs[k].Kind, []corun.Kind{j.Kind}, next(), 30)
			}
			jobs = append(jobs, j)
		}
		if sum == 0 {
			return
		}
		for i := range jobs {
			jobs[i].Share = jobs[i].Share / growth.Share(sum)
		}
		c := corun.Choose(table, jobs, 0)
		need, in := 0.0, map[int]bool{}
		for _, set := range c.Sets {
			most := 0.0
			for _, i := range set {
				require.False(t, in[i], "job %d is in two sets", i)
				in[i] = true
				most = max(most, float64(jobs[i].Share)/c.Speeds[i])
			}
			need += most
		}
		for i, j := range jobs {
			if !in[i] {
				need += float64(j.Share)
			}
		}
		require.LessOrEqual(t, need, 1/(1-corun.MaxLoss)+1e-4)
		require.GreaterOrEqual(t, c.Work, 1-1e-6)
	})
}

// Speeds are relative to computing alone: a job whose steps alone take half as long as was thought is half as fast next to others.
func TestCorrect(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	table := corun.Table{Now: now}
	table.Add("a", []corun.Kind{"old"}, .8, 10)
	table.Now = now.Add(time.Minute)
	table.Add("a", []corun.Kind{"b"}, .8, 10)
	table.Add("b", []corun.Kind{"a"}, .8, 10)
	before, added := table.Entries[1].Speed.Deviation, table.Added
	for _, factor := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		table.Correct("a", factor, now)
	}
	table.Correct("a", .5, now.Add(time.Second))
	var means []float64
	for _, e := range table.Entries {
		means = append(means, e.Speed.Mean)
	}
	require.InDeltaSlice(t, []float64{.8, .4, .8}, means, 1e-9, "only what was measured since then, and only this job's speed")
	require.InDelta(t, before/2, table.Entries[1].Speed.Deviation, 1e-9)
	require.Equal(t, added+1, table.Added, "it is published again")
	table.Correct("a", 9, now)
	require.Equal(t, 1.0, table.Entries[1].Speed.Mean)
	require.True(t, table.Valid())
}
