package advise_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/clustertest"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/resources"
)

// thousandJobs is a snapshot of 1,000 jobs on 200 nodes with as many measurements as are kept.
func thousandJobs(t testing.TB) *history.Snapshot {
	cluster := clustertest.Cluster{Jobs: 1000, Nodes: 200, Rounds: history.MaxMeasurements + 2}
	s := &history.Snapshot{Synced: true}
	for i := range cluster.Jobs {
		sample := cluster.Sample(i)
		if i < cluster.Nodes {
			s.Nodes = append(s.Nodes, history.Node{Name: sample.Node, Load: clustertest.Load()})
		}
		m, ok := loader.Measured(*sample.Loaders, *sample.BatchSize, sample.StepSeconds, sample.LoadSeconds)
		require.True(t, ok)
		s.Jobs = append(s.Jobs, history.Job{
			UID: sample.Pod.UID, Sample: &sample, Measurements: slices.Repeat([]loader.Measurement{m}, history.MaxMeasurements),
		})
	}
	return s
}

func newAdviser() *advise.Adviser {
	return &advise.Adviser{Policy: loader.DefaultChangePolicy(), Resources: &resources.Learner{}}
}

// One pass over 1,000 jobs takes at most 200 ms. Times depend on the machine; what a pass allocates does not, and most of its
// time goes into that. make bench-tuner measures the time.
func TestDecide_AllocatesLittleForAThousandJobs(t *testing.T) {
	s := thousandJobs(t)
	a := newAdviser()
	now := time.Now()
	require.NotEmpty(t, a.Decide(s, now))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	allocations := testing.AllocsPerRun(5, func() {
		now = now.Add(2 * time.Second)
		a.Decide(s, now)
	})
	runtime.ReadMemStats(&after)
	bytes := float64(after.TotalAlloc-before.TotalAlloc) / 6
	t.Logf("%.0f allocations of %.1f MB for a pass", allocations, bytes/1e6)
	require.LessOrEqual(t, allocations, 150e3)
	require.LessOrEqual(t, bytes, 30e6)
}

func BenchmarkDecide_ThousandJobs(b *testing.B) {
	s := thousandJobs(b)
	a := newAdviser()
	now := time.Now()
	for b.Loop() {
		now = now.Add(2 * time.Second)
		a.Decide(s, now)
	}
}
