package results_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

var (
	start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	jobs  = workload.Workload{{Name: "a", Kind: "vae", Seed: 1}, {Name: "b", Kind: "cnn", Seed: 2}}
)

func run(name string, a, b int, changes ...timeline.Change) *timeline.Timeline {
	done := func(name, kind string, seconds int) timeline.Job {
		return timeline.Job{
			Name: name, Kind: kind, State: timeline.Finished, Submitted: start, Ended: start.Add(time.Duration(seconds) * time.Second),
		}
	}
	line := &timeline.Timeline{Name: name, Began: start}
	line.Add(timeline.Reading{At: start, Jobs: []timeline.Job{done("a", "vae", a), done("b", "cnn", b)}})
	line.Changes = changes
	return line
}

func flowcon() *timeline.Timeline {
	return run("flowcon", 80, 150,
		timeline.Change{Kind: "vae", What: timeline.ShareChange}, timeline.Change{Kind: "vae", What: timeline.LoaderChange},
		timeline.Change{Kind: "vae", What: timeline.CategoryChange}, timeline.Change{Kind: "cnn", What: timeline.GPUShareChange})
}

// rounds returns two rounds. The second lost a job under the policy; in the first, one of two binaries came back.
func rounds() []results.Round {
	failing := run("flowcon", 90, 150)
	failing.Readings[0].Jobs[1].State = timeline.Failed
	return []results.Round{
		{Run: flowcon(), Other: run("fair", 100, 120), Killed: []chaos.Outcome{
			{Binary: "tuner", Struck: 30 * time.Second, Killed: []int{1}, Back: 34 * time.Second, Restarts: 1},
			{Binary: "coordinator", Struck: 50 * time.Second, Killed: []int{2, 3}, Restarts: 1},
		}},
		{Run: failing, Other: run("fair", 100, 120)},
	}
}

func TestReport_Golden(t *testing.T) {
	var out bytes.Buffer
	results.Report(&out, jobs, rounds()...)
	golden := filepath.Join("testdata", "report.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}

func TestGoals(t *testing.T) {
	var s results.Summary
	s.Conclude(jobs, rounds()...)
	type figure struct{ value, low, high float64 }
	told, met := map[string]figure{}, map[string]bool{}
	for _, g := range s.Goals {
		told[g.Name] = figure{g.Value, g.Low, g.High}
		if g.Met != nil {
			met[g.Name] = *g.Met
		}
	}
	require.Equal(t, map[string]figure{
		"jobs finished": {1.5, 1, 2},
		"kinds of job with a change of CPU or GPU share": {1, 0, 2},
		"kinds of job with a change of loaders":          {0.5, 0, 1},
		"kinds of job with a change of category":         {0.5, 0, 1},
		"makespan":                                       {150, 150, 150},
		"binaries back after kill -9":                    {1, 1, 1},
		"slowest return after kill -9":                   {4, 4, 4},
		"jobs finished under fair":                       {2, 2, 2},
		"makespan under fair":                            {120, 120, 120},
		"mean completion against fair":                   {-2.73, -10, 4.55},
		"best job against fair":                          {-15, -20, -10},
		"worst job against fair":                         {7.5, -10, 25},
		"makespan against fair":                          {25, 25, 25},
	}, told)
	require.Equal(t, map[string]bool{
		"jobs finished": false,
		"kinds of job with a change of CPU or GPU share": false,
		"kinds of job with a change of loaders":          false,
		"kinds of job with a change of category":         false,
		"binaries back after kill -9":                    false,
		"jobs finished under fair":                       true,
		"mean completion against fair":                   true,
	}, met)
	require.Equal(t, 4.0, *s.Kills[0].BackAfter)
	require.Nil(t, s.Kills[1].BackAfter)
}

func TestConclude_WithoutACompleteComparison(t *testing.T) {
	cut := run("fair", 0, 0)
	for i := range cut.Readings[0].Jobs {
		cut.Readings[0].Jobs[i].State = timeline.Running
	}
	var s results.Summary
	s.Conclude(jobs, results.Round{Run: flowcon(), Other: cut})
	for _, g := range s.Goals {
		require.NotContains(t, g.Name, "against", "nothing was compared")
	}
	require.Equal(t, "jobs finished under fair", s.Goals[len(s.Goals)-1].Name)
	require.False(t, *s.Goals[len(s.Goals)-1].Met)
}

func TestMissed_NamesTheKind(t *testing.T) {
	require.EqualError(t, results.Missed(jobs, flowcon()), "under flowcon, every kind of job should have seen a change of each sort, "+
		"but there was no change of loaders for cnn; no change of category for cnn")
	whole := flowcon()
	whole.Changes = append(whole.Changes, timeline.Change{Kind: "cnn", What: timeline.LoaderChange}, timeline.Change{Kind: "cnn", What: timeline.CategoryChange})
	require.NoError(t, results.Missed(jobs, whole))
}

func TestSummary_JSON(t *testing.T) {
	folder, err := results.Create(filepath.Join(t.TempDir(), "r"))
	require.NoError(t, err)
	s := results.Summary{Name: "demo", Commit: "abc", Date: start, Seeds: jobs.Seeds(), Command: "benchmarks demo"}
	s.Took("up", 61*time.Second)
	s.Conclude(jobs, results.Round{Run: flowcon()})
	require.NoError(t, folder.Summary(s))
	require.NoError(t, folder.Close())
	text, err := os.ReadFile(filepath.Join(folder.Path, "summary.json"))
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	for _, field := range []string{"name", "commit", "date", "machine", "seeds", "command", "goals", "phases"} {
		require.Contains(t, got, field)
	}
	goal := got["goals"].([]any)[0].(map[string]any)
	require.Equal(t, map[string]any{
		"name": "jobs finished", "value": 2.0, "low": 2.0, "high": 2.0, "unit": "jobs", "target": 2.0, "met": true,
	}, goal)
}

func TestCreate_RefusesAFolderWithResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	folder, err := results.Create(path)
	require.NoError(t, err)
	require.NoError(t, folder.Close())
	_, err = results.Create(path)
	require.ErrorContains(t, err, "--out")
}

func TestGoal_ComparesTheUnroundedValue(t *testing.T) {
	require.False(t, *results.Measured("throughput", "×", []float64{0.946}).AtLeast(0.95).Met)
	require.True(t, *results.Measured("throughput", "×", []float64{0.95}).AtLeast(0.95).Met)
	require.False(t, *results.Measured("p99 over p50", "×", []float64{3.004}).AtMost(3).Met)
}
