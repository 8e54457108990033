package demo_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
	"github.com/trellis-gpu/trellis/benchmarks/internal/demo"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/table"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

var twoJobs = workload.Workload{
	{Name: "vae-1", Kind: "vae", Steps: 100, Batch: 1, GPUMemory: "8Gi", CPU: 150, Metric: "loss:min", Progress: "socket"},
	{Name: "cnn-1", Kind: "cnn", Arrival: 10 * time.Second, Steps: 100, Batch: 1, GPUMemory: "8Gi", CPU: 150, Metric: "loss:min", Progress: "socket"},
}

// recordingScreen is a fake that records its calls.
type recordingScreen struct {
	said  []string
	shown int
}

func (s *recordingScreen) Say(e table.Event)       { s.said = append(s.said, e.Job+": "+e.Text) }
func (s *recordingScreen) Show(*timeline.Timeline) { s.shown++ }
func (s *recordingScreen) Done()                   {}

// watch runs the two jobs on a fake cluster, in virtual time.
func watch(t *testing.T, newCluster func() *fakeCluster, then func(*timeline.Timeline, *recordingScreen, string, error)) {
	watchWith(t, nil, newCluster, then)
}

func watchWith(t *testing.T, trouble *chaos.Chaos, newCluster func() *fakeCluster, then func(*timeline.Timeline, *recordingScreen, string, error)) {
	synctest.Test(t, func(t *testing.T) {
		folder, err := results.Create(filepath.Join(t.TempDir(), "results"))
		require.NoError(t, err)
		screen := &recordingScreen{}
		run := demo.Run{
			Policy: "flowcon", Jobs: twoJobs, Setup: training.Setup{Namespace: "demo", Run: "demo", Image: "i", Python: "python3"},
			Cluster: newCluster().connection(), Screen: screen, Folder: folder, Timeout: 5 * time.Minute, Chaos: trouble,
		}
		require.NoError(t, run.Prepare(t.Context()))
		line, err := run.Watch(t.Context())
		require.NoError(t, folder.Jobs(results.Round{Run: line}))
		require.NoError(t, folder.Close())
		then(line, screen, folder.Path, err)
	})
}

func TestRun_WatchesJobsToTheirEnd(t *testing.T) {
	watch(t, func() *fakeCluster { return newFakeCluster(30 * time.Second) }, func(line *timeline.Timeline, screen *recordingScreen, folder string, err error) {
		require.NoError(t, err)
		require.NoError(t, results.Failures(line))
		for _, job := range line.Last().Jobs {
			require.Equal(t, 30*time.Second, job.Completion())
		}
		for _, kind := range []string{"vae", "cnn"} {
			require.Equal(t, timeline.Seen{Kind: kind, Shares: 1, Loaders: 1, Categories: 1}, line.Count(kind))
		}
		require.InDelta(t, 40, line.Makespan().Seconds(), 1.1, "the second job came ten seconds later")
		require.Contains(t, screen.said, "vae-1: CPU request 150m → 600m, in place")
		require.Contains(t, screen.said, "cnn-1: Progressing → Watching")
		require.Contains(t, screen.said, "cnn-1: data loaders 1 → 2")
		require.Equal(t, len(line.Readings), screen.shown)

		log, err := os.ReadFile(filepath.Join(folder, "demo.log"))
		require.NoError(t, err)
		require.Contains(t, string(log), `"msg":"change","policy":"flowcon","job":"vae-1","kind":"vae","what":"loaders","from":"1","to":"2"`)
		samples, err := os.ReadFile(filepath.Join(folder, "samples.csv"))
		require.NoError(t, err)
		require.Greater(t, strings.Count(string(samples), "\n"), 50)
		jobs, err := os.ReadFile(filepath.Join(folder, "jobs.csv"))
		require.NoError(t, err)
		require.Contains(t, string(jobs), "flowcon,vae-1,vae,finished,0,")
	})
}

func TestRun_KeepsReports(t *testing.T) {
	for name, tc := range map[string]struct {
		log  string
		want int
	}{
		"all of it":                            {"2026-01-02T03:04:05Z step=2 loss=3\n2026-01-02T03:04:06Z step=4 loss=1\n", 2},
		"a job that went on where it had been": {"2026-01-02T03:04:05Z step=60 loss=3\n", 0},
		"nothing":                              {"2026-01-02T03:04:05Z hello\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func() *fakeCluster { w := newFakeCluster(30 * time.Second); w.log = tc.log; return w }, func(line *timeline.Timeline, _ *recordingScreen, folder string, err error) {
				require.NoError(t, err)
				require.Len(t, line.Reports["vae-1"], tc.want)
				reports, err := os.ReadFile(filepath.Join(folder, "reports.csv"))
				require.NoError(t, err)
				require.Equal(t, 1+2*tc.want, strings.Count(string(reports), "\n"))
				require.Contains(t, string(reports), "policy,job,seconds,step,value,round\n")
			})
		})
	}
}

// mortal is a fake whose binaries come back by the second reading after they were killed.
type mortal struct{ away, restarts int }

func (m *mortal) Kill(string) ([]int, error) { m.away = 2; return []int{4711}, nil }

func (m *mortal) Containers(context.Context, string) ([]chaos.Container, error) {
	if m.away--; m.away == 0 {
		m.restarts++
	}
	return []chaos.Container{{Ready: true, Restarts: m.restarts}}, nil
}

func TestRun_KillsAndReports(t *testing.T) {
	trouble := &chaos.Chaos{Cluster: &mortal{}, Plan: []chaos.Strike{{Binary: "tuner", At: 20 * time.Second}, {Binary: "extender", At: 40 * time.Second}}}
	watchWith(t, trouble, func() *fakeCluster { return newFakeCluster(30 * time.Second) }, func(line *timeline.Timeline, screen *recordingScreen, folder string, err error) {
		require.NoError(t, err)
		require.NoError(t, trouble.Failures())
		require.Contains(t, screen.said, "chaos: kill -9 of tuner: process 4711")
		require.Contains(t, screen.said, "chaos: tuner is back and ready after 2 s")
		require.Contains(t, screen.said, "chaos: extender is back and ready after 2 s", "the run waits for it, though its jobs are over")
		log, err := os.ReadFile(filepath.Join(folder, "demo.log"))
		require.NoError(t, err)
		require.Contains(t, string(log), `"msg":"chaos","policy":"flowcon","binary":"tuner","killed":[4711],"back":false`)
	})
}

func TestRun_ToleratesAShortOutageOfTheAPIServer(t *testing.T) {
	watch(t, func() *fakeCluster { w := newFakeCluster(30 * time.Second); w.listErrors = 20; return w },
		func(line *timeline.Timeline, _ *recordingScreen, _ string, err error) {
			require.NoError(t, err)
			require.NoError(t, results.Failures(line))
		})
}

func TestRun_FailsWhenTheAPIServerStaysDown(t *testing.T) {
	watch(t, func() *fakeCluster { w := newFakeCluster(30 * time.Second); w.listErrors = 1000; return w },
		func(line *timeline.Timeline, _ *recordingScreen, _ string, err error) {
			require.ErrorContains(t, err, "the API server is down")
			require.Error(t, results.Failures(line), "nothing seen is no success")
		})
}

func TestRun_ToleratesAnOutageOfTheTuner(t *testing.T) {
	watch(t, func() *fakeCluster { w := newFakeCluster(30 * time.Second); w.tunerDown = 20 * time.Second; return w },
		func(line *timeline.Timeline, _ *recordingScreen, _ string, err error) {
			require.NoError(t, err)
			require.Contains(t, line.Readings[3].Unavailable, "no endpoints")
			require.Empty(t, line.Last().Unavailable)
		})
}

func TestRun_RecreatesARejectedPod(t *testing.T) {
	watch(t, func() *fakeCluster { w := newFakeCluster(30 * time.Second); w.rejects = 3; return w },
		func(line *timeline.Timeline, screen *recordingScreen, _ string, err error) {
			require.NoError(t, err)
			require.NoError(t, results.Failures(line))
			job, _ := line.Last().Job("vae-1")
			require.Equal(t, 3, job.Refusals)
			require.Zero(t, job.Restarts)
			require.Equal(t, line.Began, job.Submitted, "its time counts from when it first came")
			require.Equal(t, 33*time.Second, job.Completion())
			require.Contains(t, screen.said, "vae-1: refused by kubelet before it ran: recreated")
		})
}

func TestRun_FailsWithItsJobs(t *testing.T) {
	watch(t, func() *fakeCluster { w := newFakeCluster(30 * time.Second); w.ends = corev1.PodFailed; return w },
		func(line *timeline.Timeline, _ *recordingScreen, _ string, err error) {
			require.NoError(t, err, "the run itself came to its end")
			require.ErrorContains(t, results.Failures(line), "2 of 2 jobs did not finish: [vae-1 is failed cnn-1 is failed]")
		})
}

func TestRun_Timeout(t *testing.T) {
	watch(t, func() *fakeCluster { return newFakeCluster(time.Hour) }, func(line *timeline.Timeline, _ *recordingScreen, _ string, err error) {
		require.ErrorContains(t, err, "not all jobs ended within 5m0s")
		require.ErrorContains(t, results.Failures(line), "vae-1 is running")
	})
}
