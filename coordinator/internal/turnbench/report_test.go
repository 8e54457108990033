package turnbench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/policy"
)

// goal is one figure, in the format of all benchmarks of Trellis: the median of its values with their range.
type goal struct {
	Name   string   `json:"name"`
	Phase  string   `json:"phase"`
	Value  float64  `json:"value"`
	Low    float64  `json:"low"`
	High   float64  `json:"high"`
	Unit   string   `json:"unit"`
	Target *float64 `json:"target,omitempty"`
	Met    *bool    `json:"met,omitempty"`
}

// phaseTime is a phase that was measured.
type phaseTime struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	// Commit is the commit at which it was measured; empty if a run that did not record that measured it.
	Commit string `json:"commit,omitempty"`
}

// figure adds a figure without a target.
func (b *bench) figure(name, unit string, values ...float64) *goal {
	require.NotEmpty(b.t, values, name)
	sorted := slices.Sorted(slices.Values(values))
	middle := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	b.goals = append(b.goals, goal{Name: name, Phase: b.phase, Value: middle, Low: sorted[0], High: sorted[len(sorted)-1], Unit: unit})
	g := &b.goals[len(b.goals)-1]
	b.progress("    %-60s %8.3f %s", g.Name, g.Value, g.Unit)
	return g
}

func (g *goal) atMost(target float64) {
	met := g.Value <= target
	g.Target, g.Met = &target, &met
}

func (g *goal) atLeast(target float64) {
	met := g.Value >= target
	g.Target, g.Met = &target, &met
}

// compute describes the GPU.
func (b *bench) compute() string {
	if b.device != "cuda" {
		return fmt.Sprintf("emulated compute, core %d", b.cores[0])
	}
	name, err := exec.Command("nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "--id=0").Output()
	require.NoError(b.t, err, "-device cuda needs an NVIDIA driver")
	return strings.TrimSpace(string(name))
}

func (b *bench) gpu() string { return "node: " + b.compute() }

// write writes the figures and the chart.
func (b *bench) write() {
	all := figures{Commit: b.commit, Phases: b.phases, Goals: b.goals}
	all.Details.Held = b.chart.lines
	if *keepArg {
		earlier, err := readFigures(*outFile)
		require.NoError(b.t, err)
		require.Contains(b.t, []string{"", b.gpu()}, earlier.Machine.GPU, "%s has figures of another GPU", *outFile)
		all = earlier.update(all)
		b.chart.lines = all.Details.Held
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	content, err := json.MarshalIndent(map[string]any{
		"name":   "turns",
		"quick":  *quickRun,
		"commit": all.Commit,
		"date":   time.Now().UTC().Format(time.RFC3339),
		"machine": map[string]any{
			"cpus":   runtime.NumCPU(),
			"memory": memory(b.t),
			"kernel": strings.TrimSpace(string(kernel)),
			"gpu":    b.gpu(),
		},
		"seeds":    b.seeds(),
		"command":  command(),
		"settings": b.settings(),
		"phases":   all.Phases,
		"goals":    all.Goals,
		"details":  all.Details,
	}, "", "  ")
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(*outFile, append(content, '\n'), 0o644))
	if len(b.chart.lines) > 0 {
		svg := strings.TrimSuffix(*outFile, filepath.Ext(*outFile)) + ".svg"
		require.NoError(b.t, os.WriteFile(svg, []byte(b.chart.svg()), 0o644))
	}
}

// presentCommit returns the commit of the working tree; empty outside a repository.
func presentCommit() string {
	hash, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	return strings.TrimSpace(string(hash))
}

func (b *bench) settings() map[string]string {
	settings := map[string]string{
		"coordinator --alpha":     fmt.Sprint(policy.DefaultAlpha),
		"coordinator --interval":  policy.DefaultInterval.String(),
		"coordinator --objective": "balanced",
		"coordinator --policy":    string(policy.Default),
		"jobs --batch-size":       "32",
		"jobs --preprocess":       "0",
		"jobs gpushare/tune":      "gpu-time,loaders",
	}
	if b.device == "cuda" {
		settings["jobs --batch-size"] = fmt.Sprintf("%d, mlp 32", cardBatch)
		settings["jobs --width"] = fmt.Sprintf("%d, mlp 1", cardWidth)
	}
	return settings
}

// print prints all figures of this run.
func (b *bench) print() {
	for _, g := range b.goals {
		target := ""
		if g.Target != nil {
			target = fmt.Sprintf(", goal %g: %v", *g.Target, *g.Met)
		}
		fmt.Printf("%-70s %9.3f (%.3f – %.3f) %s%s\n", g.Name, g.Value, g.Low, g.High, g.Unit, target)
	}
}

func command() string {
	var args []string
	for _, arg := range os.Args[1:] {
		if !strings.HasPrefix(arg, "-test.") && !strings.HasPrefix(arg, "-turns=") {
			args = append(args, arg)
		}
	}
	if len(args) == 0 {
		return "make bench-turns"
	}
	return fmt.Sprintf("make bench-turns ARGS=%q", strings.Join(args, " "))
}

func (b *bench) seeds() (seeds []int) {
	for repeat := range b.repeats() {
		seeds = append(seeds, repeat+1)
	}
	return seeds
}

// memory returns the memory of the machine, in bytes.
func memory(t *testing.T) int64 {
	text, err := os.ReadFile("/proc/meminfo")
	require.NoError(t, err)
	var kib int64
	_, err = fmt.Sscanf(string(text), "MemTotal: %d kB", &kib)
	require.NoError(t, err)
	return kib << 10
}
