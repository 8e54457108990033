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
		timeline.Change{Kind: "vae", What: timeline.CategoryChange}, timeline.Change{Kind: "cnn", What: timeline.ShareChange})
}

func TestReportIsHonest(t *testing.T) {
	var out bytes.Buffer
	results.Report(&out, jobs, flowcon(), run("fair", 100, 120))
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
	s.Conclude(jobs, flowcon(), run("fair", 100, 120))
	met := map[string]any{}
	for _, g := range s.Goals {
		met[g.Name] = g.Value
		if g.Met != nil {
			met[g.Name] = *g.Met
		}
	}
	require.Equal(t, map[string]any{
		"jobs finished": true,
		"kinds of job with a change of CPU share": true,
		"kinds of job with a change of loaders":   false,
		"kinds of job with a change of category":  false,
		"makespan":                                150.0,
		"jobs finished under fair":                true,
		"makespan under fair":                     120.0,
		"mean completion against fair":            false,
		"most delayed job against fair":           25.0,
	}, met)
}

func TestSummaryHasTheSharedForm(t *testing.T) {
	folder, err := results.Create(filepath.Join(t.TempDir(), "r"))
	require.NoError(t, err)
	s := results.Summary{Name: "demo", Commit: "abc", Date: start, Seeds: jobs.Seeds(), Command: "benchmarks demo"}
	s.Took("up", 61*time.Second)
	s.Conclude(jobs, flowcon(), nil)
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

func TestResultsAreNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	folder, err := results.Create(path)
	require.NoError(t, err)
	require.NoError(t, folder.Close())
	_, err = results.Create(path)
	require.ErrorContains(t, err, "--out")
}
