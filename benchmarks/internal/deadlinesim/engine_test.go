package deadlinesim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
	"github.com/trellis-gpu/trellis/growth"
)

// Two consumers of equal weight and one that needs less than its part.
func TestShare_ByWeightAndNoCoreIsIdle(t *testing.T) {
	got := make([]float64, 3)
	consumers := make([]consumer, 3)
	for i, most := range []float64{8, 8, 1} {
		consumers[i] = consumer{
			weight: []float64{3, 1, 10}[i],
			most:   most,
			use:    all,
			serve:  func(cpu float64) { got[i] = cpu },
		}
	}
	share(consumers, 9)
	require.InDeltaSlice(t, []float64{6, 2, 1}, got, 1e-6)
	share(consumers, 20)
	require.InDeltaSlice(t, []float64{8, 8, 1}, got, 1e-6)
}

// Worked by hand: two jobs of 100 s alone on a host with room for one, under limits and without.
func TestRun_OneHost(t *testing.T) {
	job := func(arrival float64) Job {
		return Job{
			Law:         Law{Compute: 1, Usable: 2},
			Arrival:     arrival,
			Workers:     1,
			Steps:       100,
			Peak:        4,
			Memory:      1,
			CPUGuess:    1,
			MemoryGuess: 1,
			Deadline:    150,
		}
	}
	jobs := []Job{job(0), job(10)}
	for name, tc := range map[string]struct {
		system system
		ends   []float64
	}{
		"limits":         {submitted{limits: true}, []float64{100, 200}},
		"without limits": {submitted{}, []float64{66.7, 133.3}},
		// Alone for 10 s at 1.5 iterations per second, then at half of that until the first has made 100.
		"even split": {even{}, []float64{123.3, 133.3}},
	} {
		t.Run(name, func(t *testing.T) {
			c := empty(Host{6, 64})
			ended := c.run(jobs, tc.system)
			for i, r := range ended {
				require.InDelta(t, tc.ends[i], r.endedAt, 0.1)
			}
		})
	}
}

// The published file is unsorted, has several samples at a time, one above 1, and days without samples.
func TestReplay(t *testing.T) {
	at := func(seconds, cpu float64) qoredl.Utilisation {
		return qoredl.Utilisation{At: growth.Seconds(seconds), CPU: cpu, Memory: 0.2}
	}
	got := replay([]qoredl.Utilisation{at(2*period, 1.04), at(0, 0.2), at(0, 0.4), at(1e6, 0.5)})
	require.Len(t, got, 2+maxGap/period+1)
	require.InDelta(t, 0.3*traced, got[0].cpu, 1e-9)
	require.InDelta(t, traced, got[2].cpu, 1e-9)
	require.InDelta(t, 0.5*traced, got[len(got)-1].cpu, 1e-9)
	require.InDelta(t, 0.2*traced, got[0].memory, 1e-9)
}

func TestWeighted_PrefersTheLightestThird(t *testing.T) {
	loads := []load{{cpu: 0.9, memory: 0.5}, {cpu: 0.2, memory: 0.1}, {cpu: 0.6, memory: 0.4}}
	require.InDelta(t, 0.95*(0.7*0.2+0.3*0.1)+0.05*((0.7*0.9+0.3*0.5)+(0.7*0.6+0.3*0.4))/2, weighted(loads), 1e-9)
}

// Worked by hand: one core; the job that does not fit into the time is served last.
func TestOracle_DropsTheLargest(t *testing.T) {
	job := func(work, deadline float64) Job {
		return Job{
			Law:      Law{Compute: 1, Usable: 1},
			Workers:  1,
			Steps:    work,
			Peak:     1,
			Deadline: deadline,
		}
	}
	ends, _ := oracle(empty(Host{1, 1}), []Job{job(10, 50), job(30, 50), job(20, 50), job(5, math.Inf(1))})
	require.InDeltaSlice(t, []float64{10, 65, 30, 35}, ends, 0.01)
}

// A host of two cores and 20 GB has a job of one core and 10 GB for 10 s, then nothing for 30 s.
func TestOracle_MeasuresItsUse(t *testing.T) {
	first := Job{
		Law:     Law{Compute: 1, Usable: 1},
		Workers: 1,
		Steps:   10,
		Peak:    1,
		Memory:  10 / memoryUse,
	}
	last := first
	last.Arrival = 40
	ends, used := oracle(empty(Host{2, 20}), []Job{first, last})
	require.InDeltaSlice(t, []float64{10, 50}, ends, 0.01)
	o := used.outcome()
	require.InDelta(t, 0.25*0.5, o.CPU, 1e-3)
	require.InDelta(t, 0.25*0.5, o.Memory, 1e-3)
	require.InDelta(t, 0.25*0.5, o.Weighted, 1e-3)
}
