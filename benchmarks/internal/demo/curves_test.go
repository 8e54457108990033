package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

func TestRun_Curves(t *testing.T) {
	rising := []int64{10, 20, 30, 40, 50, 60}
	for name, tc := range map[string]struct {
		steps    []int64
		restarts int // of the container
		events   int
		want     string
	}{
		"a curve":        {rising, 0, 0, ""},
		"too few points": {[]int64{10, 10, 20}, 0, 0, "bar has a curve of 2 points"},
		"no point":       {nil, 0, 0, "bar has a curve of 0 points"},
		"a restart that the container did not see": {rising, 0, 3, "bar was taken for a restarted job 3 times"},
		"a step that goes backwards":               {append(rising, 1), 0, 0, "bar was taken for a restarted job 1 times"},
		"a container that was restarted":           {append(rising, 1), 1, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := Run{Policy: "harmless"}
			job := timeline.Job{Name: "bar", State: timeline.Running, Sampled: true}
			run.line.Add(timeline.Reading{Jobs: []timeline.Job{job}})
			for i, step := range tc.steps {
				job.Reported, job.Step = true, step
				run.line.Add(timeline.Reading{At: time.Unix(int64(i), 0), Jobs: []timeline.Job{job}})
			}
			job.State, job.Restarts = timeline.Finished, tc.restarts
			run.line.Add(timeline.Reading{At: time.Unix(100, 0), Jobs: []timeline.Job{job}})
			for range tc.events {
				run.restarts.add(cluster.Story{Object: "bar", Reason: "JobRestarted"})
			}
			run.restarts.add(cluster.Story{Object: "bar", Reason: "FirstMetric"})
			if tc.want == "" {
				require.NoError(t, run.curves())
				return
			}
			require.ErrorContains(t, run.curves(), tc.want)
		})
	}
}
