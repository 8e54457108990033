package metrics_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/advise"
	"github.com/trellis-gpu/trellis/tuner/internal/contention"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/learn"
	"github.com/trellis-gpu/trellis/tuner/internal/metrics"
	"github.com/trellis-gpu/trellis/tuner/internal/runs"
)

// fixed is a Source with a fixed snapshot.
type fixed struct{ snapshot *history.Snapshot }

func (f fixed) Snapshot() (*history.Snapshot, <-chan struct{}) { return f.snapshot, nil }

func TestMetrics_ReportStateAndPassLint(t *testing.T) {
	m := metrics.New(fixed{&history.Snapshot{
		Nodes:            []history.Node{{Name: "n"}},
		Undecodable:      map[string]error{"k": bus.ErrVersion},
		Err:              bus.ErrUnavailable,
		UnavailableSince: time.Now().Add(-time.Hour),
		Jobs: []history.Job{{UID: "gone"}, {
			UID:    "a",
			Sample: &bus.Sample{},
		}, {
			UID:          "b",
			Sample:       &bus.Sample{},
			Measurements: []loader.Measurement{{}},
		}},
	}}, "v1.2.3")
	m.ObserveAllocation(time.Millisecond)
	m.CountChange(advise.Written)
	m.CountChange(advise.Written)
	m.CountMeasurements(contention.Learned, 3)
	m.CountModelWrite(learn.Written)
	m.CountRuns(runs.Merged, 2)
	m.CountRuns(runs.Refused, 1)
	m.CountProgramWrite(runs.Written)
	m.Programs(func() (count, bytes int) { return 7, 700 })
	m.Leading(true)

	recorder := httptest.NewRecorder()
	promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}).ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	text := recorder.Body.String()
	for _, line := range []string{
		"trellis_tuner_jobs 2", "trellis_tuner_measured_jobs 1", "trellis_tuner_nodes 1",
		"trellis_tuner_refused_records 1", "trellis_tuner_interference_pairs 0",
		`trellis_tuner_interference_measurements_total{result="learned"} 3`,
		`trellis_tuner_interference_writes_total{result="written"} 1`,
		`trellis_tuner_advice_total{action="written"} 2`, "trellis_tuner_leader 1",
		"trellis_tuner_allocation_duration_seconds_count 1",
		"trellis_tuner_programs 7", "trellis_tuner_programs_bytes 700", `trellis_tuner_program_runs_total{result="merged"} 2`,
		`trellis_tuner_program_writes_total{result="written"} 1`,
		`trellis_tuner_build_info{version="v1.2.3"} 1`, "trellis_tuner_bus_away_seconds 36",
	} {
		require.Contains(t, text, line)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	m.Leading(false)
}
