package results_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

const (
	storm = `{"name": "storm", "commit": "abc1234", "date": "2026-11-23T10:00:00Z", "command": "make bench-storm", "seeds": [1], "settings": {"coordinator --interval": "5s", "coordinator hostPID": "true", "rounds": "20"},
		"machine": {"cpus": 2, "memory": 25769803776, "kernel": "6.1", "gpu": ""}, "goals": [
		{"name": "pods lost", "value": 0, "low": 0, "high": 0, "unit": "pods", "target": 0, "met": true},
		{"name": "drift: at rest", "value": 1.5, "low": -0.25, "high": 2, "unit": "s", "target": 1, "met": false}]}`
	sim = `{"name": "sim", "commit": "abc1234", "date": "2026-11-22T10:00:00Z", "command": "make sim", "seeds": [1, 2, 3], "details": [1], "settings": {"interval": "10s"},
		"machine": {"cpus": 2, "kernel": "6.1", "gpu": "node-1: emulated 24GiB, node-2: emulated 24GiB"}, "goals": [
		{"name": "1 core, fair: mean completion", "value": -33.123456, "low": -34, "high": -32, "unit": "%", "target": null, "met": null},
		{"name": "1 core, growth: makespan", "value": 1.001, "low": 1.001, "high": 1.001, "unit": "×", "target": 1.01, "met": true},
		{"name": "fair less growth: mean completion", "value": -9.5, "low": -9.5, "high": -9.5, "unit": "points", "target": null, "met": null}]}`
)

func TestPage(t *testing.T) {
	all, err := results.Published(fstest.MapFS{"storm.json": {Data: []byte(storm)}, "sim.json": {Data: []byte(sim)}, "sim.jsonl": {Data: []byte("no summary")}})
	require.NoError(t, err)
	var page strings.Builder
	require.NoError(t, results.Page(&page, all))
	_, tables, _ := strings.Cut(page.String(), "\n\n##")
	require.Equal(t, ` sim

`+"`make sim`"+` at abc1234, 22 November 2026; 2 CPUs, 2 GPUs (emulated 24GiB), Linux 6.1; seeds 1–3.
Settings: interval 10s.

|  | mean completion, % | makespan, × |
|---|---|---|
| 1 core, fair | −33.1 (−34 – −32) |  |
| 1 core, growth |  | 1.001, goal 1.01 |
| fair less growth | −9.5 points |  |

## storm

`+"`make bench-storm`"+` at abc1234, 23 November 2026; 2 CPUs, 24 GiB, Linux 6.1; seed 1.
Settings: coordinator --interval 5s, hostPID true; rounds 20.

| figure | measured |
|---|---|
| pods lost | 0 pods, goal 0 |
| drift: at rest | **1.5 s (−0.25 – 2), goal 1** |
`, tables)
}

// Phases of a benchmark were measured at different commits, one of them by a run that did not record it.
func TestPage_NamesTheCommitOfEachFigure(t *testing.T) {
	summary := func(phases string) string {
		return strings.Replace(strings.ReplaceAll(storm, `"unit"`, `"phase": "kills", "unit"`), `"seeds"`, `"phases": [`+phases+`], "seeds"`, 1)
	}
	for name, c := range map[string]struct{ phases, want string }{
		"different": {
			`{"name": "kills", "seconds": 1, "commit": "abc"}, {"name": "drifts", "seconds": 1}`,
			"| figure | measured | commit |\n|---|---|---|\n| pods lost | 0 pods, goal 0 | abc |\n",
		},
		"one": {
			`{"name": "kills", "seconds": 1, "commit": "abc"}, {"name": "drifts", "seconds": 1, "commit": "abc"}`,
			"| figure | measured |\n|---|---|\n| pods lost | 0 pods, goal 0 |\n",
		},
		"not recorded": {
			`{"name": "kills", "seconds": 1}, {"name": "drifts", "seconds": 1}`,
			"| figure | measured |\n|---|---|\n| pods lost | 0 pods, goal 0 |\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := results.Published(fstest.MapFS{"storm.json": {Data: []byte(summary(c.phases))}})
			require.NoError(t, err)
			var page strings.Builder
			require.NoError(t, results.Page(&page, all))
			require.Contains(t, page.String(), c.want)
		})
	}
}

func TestMachine_NamesEachModelOfItsGPUsOnce(t *testing.T) {
	for name, c := range map[string]struct{ gpus, want string }{
		"no GPU":               {gpus: "", want: "2 CPUs, Linux 6.1"},
		"one GPU":              {gpus: "node: NVIDIA H100", want: "2 CPUs, 1 GPU (NVIDIA H100), Linux 6.1"},
		"a model with a comma": {gpus: "node: emulated compute, core 0", want: "2 CPUs, 1 GPU (emulated compute, core 0), Linux 6.1"},
		"another text":         {gpus: "2 nodes, emulated:2x24GiB each", want: "2 CPUs, 2 nodes, emulated:2x24GiB each, Linux 6.1"},
		"GPUs of two models": {
			gpus: "a: emulated compute, core 1, a: NVIDIA H100, b: NVIDIA H100",
			want: "2 CPUs, 3 GPUs (NVIDIA H100, emulated compute, core 1), Linux 6.1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, results.Machine{CPUs: 2, Kernel: "6.1", GPU: c.gpus}.String())
		})
	}
}

func TestPublished_RefusesInvalidSummaries(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":     `pods lost: 0`,
		"no figure":   `{"name": "storm", "goals": []}`,
		"no name":     strings.Replace(storm, `"storm"`, `""`, 1),
		"no settings": strings.Replace(storm, `"settings"`, `"set"`, 1),
		"a quick run": strings.Replace(storm, `"commit"`, `"quick": true, "commit"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := results.Published(fstest.MapFS{"it.json": {Data: []byte(text)}})
			require.ErrorContains(t, err, "it.json")
		})
	}
}
