package goodput_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/goodput"
)

func known(scale float64) (n goodput.Noise) {
	w := harness{scale: scale}
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n = n.Add(w.gradients(64, 1, random))
	}
	return n
}

func TestNoise_EstimatesTheScale(t *testing.T) {
	for _, scale := range []float64{10, 100, 1000} {
		low, high := known(scale).Scale()
		require.Less(t, low, 2*scale)
		require.Greater(t, high, scale/2)
		require.Greater(t, low, scale/3, "the interval is narrow enough to be useful")
	}
}

// The interval is the estimate of |G|² plus and minus its standard error, which contains 68 % of the true values.
func TestNoise_TheIntervalIsOneStandardErrorWide(t *testing.T) {
	const runs = 500
	contained := 0
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 1))
		var n goodput.Noise
		for range 300 {
			n = n.Add(harness{scale: 100}.gradients(32, 1, random))
		}
		if low, high := n.Scale(); low <= 100 && 100 <= high {
			contained++
		}
	}
	require.InDelta(t, .68, float64(contained)/runs, .05)
}

func TestNoise_IsUnknownAtFirst(t *testing.T) {
	n := goodput.Noise{}
	for range 7 {
		n = n.Add(goodput.Comparison{Small: 8, SmallSquared: 2, Large: 16, LargeSquared: 1.5})
		require.False(t, n.Known())
	}
	require.True(t, n.Add(goodput.Comparison{Small: 8, SmallSquared: 2, Large: 16, LargeSquared: 1.5}).Known())
}

func TestNoise_IgnoresGarbage(t *testing.T) {
	before := known(100)
	for name, c := range map[string]goodput.Comparison{
		"no comparison":    {},
		"NaN":              {Small: 8, SmallSquared: math.NaN(), Large: 16, LargeSquared: 1},
		"an infinite norm": {Small: 8, SmallSquared: 1, Large: 16, LargeSquared: math.Inf(1)},
		"a negative norm":  {Small: 8, SmallSquared: -1, Large: 16, LargeSquared: 1},
		"no gradient":      {Small: 8, SmallSquared: 0, Large: 16, LargeSquared: 0},
		"equal sizes":      {Small: 8, SmallSquared: 1, Large: 8, LargeSquared: 1},
		"a negative size":  {Small: -8, SmallSquared: 1, Large: 8, LargeSquared: 1},
	} {
		require.Equal(t, before, before.Add(c), name)
	}
}

func TestNoise_BoundsTheInfluenceOfAnOutlier(t *testing.T) {
	before := known(100)
	for _, large := range []float64{0, 1e90, 1e300} {
		after := before.Add(goodput.Comparison{Small: 64, SmallSquared: 1e90, Large: 128, LargeSquared: large})
		low, _ := before.Scale()
		now, _ := after.Scale()
		require.InEpsilon(t, low, now, .1, "%g", large)
	}
}

// Gradients get shorter by orders of magnitude while a job trains, and rare ones of small batches are as much longer than the others
// (batch normalisation). Neither changes the estimate.
func TestNoise_DoesNotDependOnTheLengthOfGradients(t *testing.T) {
	random, lengths := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(2, 2))
	var n goodput.Noise
	for range 200 {
		n = n.Add(harness{scale: 100}.gradients(64, math.Exp(10*lengths.NormFloat64()), random))
	}
	low, high := n.Scale()
	want, most := known(100).Scale()
	require.InEpsilon(t, want, low, 1e-6)
	require.InEpsilon(t, most, high, 1e-6)
}

// A job that goes from size to size has one estimate, in which the sizes with the less noisy gradients count more.
func TestNoise_CombinesBatchSizes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var n goodput.Noise
	for i := range 400 {
		n = n.Add(harness{scale: 400}.gradients([]int{16, 64, 256, 512}[i%4], 1, random))
	}
	low, high := n.Scale()
	require.Less(t, low, 400.)
	require.Greater(t, high, 400.)
	require.Less(t, high, 1.5*low)
}

// A state that an earlier version has published has squared norms that are not relative. It is forgotten, at once or after a while.
func TestNoise_ContinuesWithTheStateOfAnEarlierVersion(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for name, n := range map[string]goodput.Noise{
		"long gradients":  {Comparisons: 90, Weight: 50, Signal: 200, Squares: 1e5, Variance: 1e6},
		"short gradients": {Comparisons: 90, Weight: 50, Signal: 2e-9, Squares: 1e-17, Variance: 1e-5},
	} {
		for range 100 {
			n = n.Add(harness{scale: 100}.gradients(64, 1, random))
		}
		low, high := n.Scale()
		require.Less(t, low, 110., name)
		require.Greater(t, high, 90., name)
	}
}

func TestRule_Efficiency(t *testing.T) {
	for name, tc := range map[string]struct {
		rule             goodput.Rule
		scale, own, size float64
		want             float64
	}{
		"the job's own size":                {goodput.Linear, 100, 64, 64, 1},
		"noise only, linear":                {goodput.Linear, 1e12, 64, 128, 1},
		"noise only, smaller, linear":       {goodput.Linear, 1e12, 64, 32, 1},
		"no noise: a sample more is wasted": {goodput.Unchanged, 0, 64, 128, .5},
		"no noise: a larger rate diverges":  {goodput.Linear, 0, 64, 128, 0},
		"the best rule is Pollux's":         {goodput.Linear, 1e12, 1, 1e6, (1e12 + 1) / (1e12 + 1e6)},
		"unchanged: no credit":              {goodput.Unchanged, 1e12, 64, 128, .5},
		"an unknown rule changes nothing":   {"cube", 1e12, 64, 128, .5},
		"no size":                           {goodput.Linear, 1, 0, 128, 0},
	} {
		require.InDelta(t, tc.want, tc.rule.Efficiency(tc.scale, tc.scale, tc.own, tc.size), 1e-4, name)
	}
}

// No rule makes a sample more valuable than the best learning rate for the size would.
func TestRule_EfficiencyIsAtMostPolluxs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		scale, own, size := math.Exp(20*random.Float64()-5), 1+1000*random.Float64(), 1+10000*random.Float64()
		for _, rule := range []goodput.Rule{goodput.Linear, goodput.SquareRoot, goodput.Unchanged} {
			got := rule.Efficiency(scale, scale, own, size)
			require.LessOrEqual(t, got, (scale+own)/(scale+size)*(1+1e-9))
			require.LessOrEqual(t, rule.Efficiency(scale/2, 2*scale, own, size), got*(1+1e-9), "uncertainty is not favourable")
		}
	}
}

// measured is a job that has run with its own size for some intervals.
func measured(n goodput.Noise) goodput.State {
	s := goodput.State{Range: goodput.Range{Default: 64, Min: 16, Max: 512, Rule: goodput.SquareRoot}, Noise: n, MemoryLimit: 8192}
	for range 5 {
		s = s.Observe(64, .1, 1000)
	}
	return s
}

func TestOptions_WhenNotToChange(t *testing.T) {
	larger := measured(known(1e6))
	require.Greater(t, larger.Options(64)[1].Batch, 64)
	for name, change := range map[string]func(*goodput.State){
		"the noise is unknown":            func(s *goodput.State) { s.Noise = goodput.Noise{} },
		"no range is declared":            func(s *goodput.State) { s.Range = goodput.Range{} },
		"the range is one size":           func(s *goodput.State) { s.Range.Min, s.Range.Max = 64, 64 },
		"the range is invalid":            func(s *goodput.State) { s.Range.Min = 100 },
		"the memory is unknown":           func(s *goodput.State) { s.Points[0].Memory = 0 },
		"the limit of memory is unknown":  func(s *goodput.State) { s.MemoryLimit = 0 },
		"twice as much does not fit":      func(s *goodput.State) { s.MemoryLimit = 1400 },
		"the next size was rolled back":   func(s *goodput.State) { s.RejectedFrom = 65 },
		"a size is tried":                 func(s *goodput.State) { s.Trying = true },
		"it was not measured long enough": func(s *goodput.State) { s.Points[0].Intervals = 3 },
		"the measurement is not finite":   func(s *goodput.State) { s.Points[0].Step = growth.Seconds(math.NaN()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := measured(known(1e6))
			change(&s)
			require.LessOrEqual(t, len(s.Options(64)), 1)
		})
	}
}

func TestObserve_NewConditionsAreNoPropertyOfASize(t *testing.T) {
	s := measured(known(300))
	for range 5 {
		s = s.Observe(128, .15, 1200)
	}
	for range 30 { // another job has come
		s = s.Observe(128, .3, 1200)
	}
	require.InEpsilon(t, .2, float64(s.Points[0].Step), .25)
	require.InEpsilon(t, .3, float64(s.Points[1].Step), .1)
}

// Which sizes fit follows from the memory that each measured size has needed. A size that is used again after a larger one
// does not need what the allocator has kept.
func TestOptions_FitByTheSlopeOfTheMemory(t *testing.T) {
	s := measured(known(1e6))
	s.MemoryLimit = 4000
	for range 5 {
		s = s.Observe(128, .12, 2000)
	}
	for range 5 {
		s = s.Observe(64, .1, 2000)
	}
	for range 5 {
		s = s.Observe(32, .09, 2000)
	}
	require.Equal(t, []growth.MiB{1000, 2000, 0}, []growth.MiB{s.Points[0].Memory, s.Points[1].Memory, s.Points[2].Memory})
	largest := goodput.Option{}
	for _, o := range s.Options(128) {
		if o.Batch > largest.Batch {
			largest = o
		}
	}
	require.Equal(t, 192, largest.Batch, "256 would need the whole limit")
	require.Equal(t, growth.MiB(3000), largest.Memory)
}

func TestTogether(t *testing.T) {
	option := func(batch int, gain float64, step growth.Seconds, memory growth.MiB) goodput.Option {
		return goodput.Option{Batch: batch, Gain: gain, Step: step, Memory: memory}
	}
	on := func(gpus string, options ...goodput.Option) goodput.Job {
		j := goodput.Job{Options: options}
		for _, gpu := range gpus {
			j.GPUs = append(j.GPUs, growth.GPU(gpu))
		}
		return j
	}
	small := []goodput.Option{option(32, 1, .1, 1000), option(64, 1.3, .15, 2000)}
	large := []goodput.Option{option(16, 1, .2, 1000), option(48, 1.5, .5, 3000), option(32, 1.2, .3, 2000)}
	a, b := on("0", small...), on("0", large...)
	both, second := on("01", small...), on("1", large...)
	for name, tc := range map[string]struct {
		jobs   []goodput.Job
		memory growth.MiB // of each GPU
		want   []int
	}{
		"no job":                           {nil, 0, nil},
		"one job":                          {[]goodput.Job{a}, 0, []int{64}},
		"both":                             {[]goodput.Job{a, b}, 0, []int{64, 48}},
		"memory for one of the larger":     {[]goodput.Job{a, b}, 4000, []int{64, 32}},
		"memory for none":                  {[]goodput.Job{a, b}, 1500, []int{32, 16}},
		"long steps":                       {[]goodput.Job{a, on("0", option(16, 1, 1.7, 0), option(32, 1.4, 1.9, 0))}, 0, []int{32, 32}},
		"longer steps than allowed stay":   {[]goodput.Job{a, on("0", option(16, 1, 5, 0), option(32, 1.4, 6, 0))}, 0, []int{32, 16}},
		"jobs of other GPUs":               {[]goodput.Job{a, second}, 4000, []int{64, 48}},
		"a second GPU that is shared":      {[]goodput.Job{both, second}, 4000, []int{64, 32}},
		"each GPU has its own memory":      {[]goodput.Job{both, second, a}, 5000, []int{64, 48, 64}},
		"long steps on a second GPU":       {[]goodput.Job{both, on("1", option(16, 1, 1.7, 0), option(32, 1.4, 1.9, 0))}, 0, []int{32, 32}},
		"jobs without a GPU share nothing": {[]goodput.Job{on("", large...), on("", option(16, 1, 1.7, 0), option(32, 1.4, 1.9, 0))}, 0, []int{48, 32}},
		"a GPU that is named twice":        {[]goodput.Job{on("00", small...)}, 2000, []int{64}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, o := range goodput.Together(tc.jobs, map[growth.GPU]growth.MiB{"0": tc.memory, "1": tc.memory}) {
				got = append(got, o.Batch)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestTogether_ManyJobs(t *testing.T) {
	var jobs []goodput.Job
	for range 40 {
		jobs = append(jobs, goodput.Job{GPUs: []growth.GPU{"0"}, Options: []goodput.Option{
			{Batch: 1, Gain: 1, Memory: 100, Step: .01}, {Batch: 2, Gain: 1.1, Memory: 200, Step: .02},
		}})
	}
	larger := 0
	for _, o := range goodput.Together(jobs, map[growth.GPU]growth.MiB{"0": 6000}) {
		larger += o.Batch - 1
	}
	require.Equal(t, 20, larger)
}

// FuzzState: for any state, options are inside the declared range and can be encoded.
func FuzzState(f *testing.F) {
	for _, s := range []goodput.State{measured(known(100)), {}, {Range: goodput.Range{Default: 1, Min: 1, Max: goodput.MaxBatch}}} {
		raw, _ := json.Marshal(s)
		f.Add(raw, 64, .1, int64(100), 1.0, 0.5)
	}
	f.Fuzz(func(t *testing.T, raw []byte, batch int, step float64, memory int64, small, large float64) {
		var s goodput.State
		if json.Unmarshal(raw, &s) != nil {
			return
		}
		s.Noise = s.Noise.Add(goodput.Comparison{Small: 8, SmallSquared: small, Large: 16, LargeSquared: large})
		for range 5 {
			s = s.Observe(batch, growth.Seconds(step), growth.MiB(memory))
		}
		for _, o := range s.Options(batch) {
			if o.Batch != batch && (o.Batch < s.Range.Min || o.Batch > s.Range.Max) {
				t.Fatalf("%+v for %+v", o, s)
			}
			if !(o.Gain > 0) || math.IsInf(o.Gain, 1) {
				t.Fatalf("a gain of %v", o.Gain)
			}
		}
		values, err := json.Marshal(s.Values())
		if err != nil {
			t.Fatalf("%+v cannot be encoded: %v", s.Values(), err)
		}
		_ = values
		if goodput.Together([]goodput.Job{{Options: append(s.Options(batch), goodput.Option{Gain: 1})}}, nil) == nil {
			t.Fatal("no choice")
		}
	})
}
