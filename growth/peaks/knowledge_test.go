package peaks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/peaks"
)

func run(namespace, kind string, memory growth.MiB) peaks.Run {
	return peaks.Run{Namespace: namespace, Kind: kind, Peak: peaks.Use{CPU: 900, Memory: memory}, StepSeconds: 0.25}
}

func TestRemember_ForgetsTheOldest(t *testing.T) {
	var runs []peaks.Run
	for n := range 1000 {
		runs = peaks.Remember(runs, run("team-a", fmt.Sprint(n), 100))
	}
	require.Equal(t, peaks.MaxRuns, len(runs))
	require.Equal(t, "999", runs[len(runs)-1].Kind)
	for n := range 100 {
		runs = peaks.Remember(runs, run("team-a", "999", growth.MiB(200+n)))
	}
	require.Equal(t, peaks.MaxRuns, len(runs))
	require.Equal(t, "495", runs[0].Kind, "many runs of one program replace few other programs")
	for _, invalid := range []peaks.Run{run("team-a", "x", -1), {Peak: peaks.Use{Memory: 1}, StepSeconds: -1}} {
		require.Equal(t, len(runs), len(peaks.Remember(runs[:len(runs):len(runs)], invalid)))
		require.Equal(t, "999", peaks.Remember(runs, invalid)[len(runs)-1].Kind)
	}
}

// A job that was taken for ended has its last run only. Runs of earlier releases have no pod, and stay.
func TestRemember_ReplacesTheRunOfAPod(t *testing.T) {
	of := func(pod growth.PodUID, memory growth.MiB) peaks.Run {
		r := run("team-a", "train", memory)
		r.Pod = pod
		return r
	}
	runs := []peaks.Run{of("", 1), of("", 2)}
	for _, r := range []peaks.Run{of("a", 100), of("b", 200), of("a", 150), of("b", 210), of("a", 160)} {
		runs = peaks.Remember(runs, r)
	}
	require.Equal(t, []peaks.Run{of("", 1), of("", 2), of("b", 210), of("a", 160)}, runs)
	require.Equal(t, runs, peaks.Remember(runs, of(growth.PodUID(strings.Repeat("a", 300)), 100)), "no UID is that long")
}

func TestRecommend(t *testing.T) {
	const mib = int64(1)
	earlier := []peaks.Run{run("team-a", "train", 4000), run("team-a", "train", 4100), run("team-a", "train", 4050)}
	flat := profileOf(1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000)
	for name, tc := range map[string]struct {
		runs      []peaks.Run
		profile   peaks.Profile
		job       peaks.Run
		low, high int64 // of the request of memory; 0 for none
		reason    string
		step      bool
	}{
		"nothing is known":                {nil, peaks.Profile{}, run("team-a", "train", 0), 0, 0, "", false},
		"a job that runs":                 {nil, flat, run("team-a", "train", 0), 1100 * mib, 1200, "what the job has used so far", false},
		"before the first step":           {earlier, peaks.Profile{}, peaks.Run{Namespace: "team-a", Kind: "train"}, 4400, 5200, "earlier runs of the program", true},
		"a run of another namespace":      {earlier, peaks.Profile{}, peaks.Run{Namespace: "team-b", Kind: "train"}, 0, 0, "", false},
		"a job that runs like the others": {earlier, profileOf(3900, 3950), run("team-a", "train", 0), 4345, 5000, "what the job has used so far, and earlier runs of the program", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := peaks.Learn(tc.runs).Recommend(tc.profile, tc.job, 0)
			require.Equal(t, tc.reason, r.Reason)
			require.Equal(t, tc.step, r.StepSeconds != nil)
			if tc.high == 0 {
				require.Nil(t, r.Memory)
				return
			}
			require.GreaterOrEqual(t, r.Memory.Request, tc.low)
			require.LessOrEqual(t, r.Memory.Request, tc.high)
			require.Zero(t, r.Memory.Request%16)
			require.GreaterOrEqual(t, r.Memory.Request, r.Memory.High)
		})
	}
}

// A recommended request of GPU memory is above what the job has used, by the driver or by the framework.
func TestRecommend_GPUMemory(t *testing.T) {
	k := peaks.Learn(nil)
	for name, tc := range map[string]struct {
		use       peaks.Use
		low, high int64
	}{
		"by the driver":    {peaks.Use{GPUUsed: 3000}, 3300, 3500},
		"by the framework": {peaks.Use{GPUReserved: 3000}, 3863, 4000},
		"by both":          {peaks.Use{GPUReserved: 3000, GPUUsed: 3300}, 3630, 3840},
	} {
		t.Run(name, func(t *testing.T) {
			var p peaks.Profile
			for range 8 {
				p = p.Add(tc.use, 10)
			}
			r := k.Recommend(p, run("team-a", "train", 0), 80).GPUMemory
			require.GreaterOrEqual(t, r.Request, tc.low)
			require.LessOrEqual(t, r.Request, tc.high)
			require.EqualValues(t, tc.use.GPU(), r.Low, "it is not expected to use less than it has")
		})
	}
}

// described is a run whose memory is 500 MiB and 4 MiB per sample of the batch, and whose CPU is a fifth of a core and 3m per sample,
// for models of one size.
func described(batch int) peaks.Run {
	r := run("team-a", fmt.Sprint(batch), growth.MiB(500+4*batch))
	r.Model = peaks.Model{BatchSize: batch, FLOPs: 4e9, Params: 25e6}
	r.Peak.CPU = growth.MilliCPU(200 + 3*batch)
	r.StepSeconds = growth.Seconds(batch) / 1000
	return r
}

func TestRecommend_FromTheDescribedModel(t *testing.T) {
	var runs []peaks.Run
	for batch := 16; batch <= 512; batch += 16 {
		if batch != 256 {
			runs = append(runs, described(batch))
		}
	}
	job := described(256)
	job.StepSeconds = 0
	r := peaks.Learn(runs).Recommend(peaks.Profile{}, job, 0)
	require.Equal(t, "its batch size, operations and parameters", r.Reason)
	require.InEpsilon(t, 500+4*256, float64(r.Memory.Likely), 0.15)
	require.InEpsilon(t, 0.256, r.StepSeconds.Likely, 0.15)
	require.InEpsilon(t, 200+3*256, float64(r.CPU.Likely), 0.15)
	require.LessOrEqual(t, r.CPU.Low, r.CPU.Likely)
	require.GreaterOrEqual(t, r.CPU.Request, r.CPU.High)

	huge := peaks.Use{CPU: 9_000 * growth.Core, Memory: 60 << 20}
	poisoned := append(runs, peaks.Run{Namespace: "team-a", Kind: "bad", Model: job.Model, Peak: huge})
	again := peaks.Learn(poisoned).Recommend(peaks.Profile{}, job, 0)
	require.Less(t, again.CPU.Likely, 4*r.CPU.Likely, "one false report has a bounded influence")
	require.Less(t, again.Memory.Likely, 4*r.Memory.Likely, "one false report has a bounded influence")
}

func TestRecommendation_DiffersFrom(t *testing.T) {
	of := func(memory int64) peaks.Recommendation {
		return peaks.Recommendation{Memory: &peaks.Request{Request: memory}}
	}
	require.False(t, of(1000).DiffersFrom(of(1150)))
	require.True(t, of(1000).DiffersFrom(of(1216)))
	require.True(t, of(1216).DiffersFrom(of(1000)))
	require.False(t, of(100).DiffersFrom(of(160)))
	require.True(t, of(100).DiffersFrom(peaks.Recommendation{}))
}

// A prediction far outside the described batch sizes may be a thousand times too large. It says little about a job that has run.
func TestRecommend_AFarPredictionCountsForLittle(t *testing.T) {
	var runs []peaks.Run
	for _, batch := range []int{32, 48, 64, 96, 128} {
		r := described(batch)
		r.Peak.Memory = 4096
		runs = append(runs, r)
	}
	readings := make([]growth.MiB, 16)
	for n := range readings {
		readings[n] = 2048
	}
	job := described(65536)
	job.Peak = peaks.Use{}
	r := peaks.Learn(runs).Recommend(profileOf(readings...), job, 0)
	require.Equal(t, "what the job has used so far, and its batch size, operations and parameters", r.Reason)
	require.Less(t, r.Memory.Request, int64(3*growth.GiB))
	require.GreaterOrEqual(t, r.Memory.Request, r.Memory.High)
}

func TestRecommendation_WithCPUOf(t *testing.T) {
	r := peaks.Recommendation{CPU: &peaks.Request{Request: 1760, Low: 569, Likely: 900, High: 1756}, Memory: &peaks.Request{Request: 272}}
	for name, tc := range map[string]struct {
		capacity growth.MilliCPU
		want     peaks.Request
	}{
		"more than it needs": {2000, *r.CPU},
		"one core":           {1000, peaks.Request{Request: 1000, Low: 569, Likely: 900, High: 1000}},
		"half a core":        {500, peaks.Request{Request: 500, Low: 500, Likely: 500, High: 500}},
		"unknown":            {0, *r.CPU},
	} {
		t.Run(name, func(t *testing.T) {
			bounded := r.WithCPUOf(tc.capacity)
			require.Equal(t, tc.want, *bounded.CPU)
			require.Equal(t, r.Memory, bounded.Memory)
			require.Equal(t, int64(1760), r.CPU.Request)
		})
	}
	require.Nil(t, peaks.Recommendation{}.WithCPUOf(1000).CPU)
}
