package advise_test

import (
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/clustertest"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/resources"
)

// thousandJobs returns a snapshot of 1,000 jobs on 200 nodes with as many measurements as are kept.
func thousandJobs(t testing.TB) *history.Snapshot {
	session := membus.New().Session()
	recorder := history.NewRecorder(session, slog.New(slog.DiscardHandler))
	go recorder.Run(t.Context())
	cluster := clustertest.Cluster{Jobs: 1000, Nodes: 200}
	for range history.MaxMeasurements + 2 {
		cluster.PutRound(t, 0, func(key string, value []byte) {
			_, err := session.Put(t.Context(), key, value, bus.Persistent)
			require.NoError(t, err)
		})
	}
	for { // the recorder reads in another goroutine
		s, changed := recorder.Snapshot()
		if len(s.Jobs) == cluster.Jobs && s.Jobs[cluster.Jobs-1].Sample.Step == 100*(history.MaxMeasurements+2) && complete(s) {
			return s
		}
		<-changed
	}
}

func complete(s *history.Snapshot) bool {
	for _, j := range s.Jobs {
		if len(j.Measurements) < history.MaxMeasurements {
			return false
		}
	}
	return true
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
