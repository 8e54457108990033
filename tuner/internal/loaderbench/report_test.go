package loaderbench

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// goal is one figure, in the format of all benchmarks of Trellis.
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

type phaseTime struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// figure adds the median of some values with their range.
func (b *bench) figure(name, unit string, values ...float64) *goal {
	require.NotEmpty(b.t, values, name)
	sorted := slices.Sorted(slices.Values(values))
	middle := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	return b.add(goal{Name: name, Unit: unit, Value: middle, Low: sorted[0], High: sorted[len(sorted)-1]})
}

// interval adds the mean of some values with its 95 % interval.
func (b *bench) interval(name, unit string, values []float64) *goal {
	mean, squares, n := 0.0, 0.0, float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	half := 2.09 * math.Sqrt(squares/(n-1)/n) // Student's t for 20 seeds
	return b.add(goal{Name: name, Unit: unit, Value: mean, Low: mean - half, High: mean + half})
}

func (b *bench) add(g goal) *goal {
	for _, v := range []*float64{&g.Value, &g.Low, &g.High} {
		*v = math.Round(1000**v) / 1000
	}
	g.Phase = b.phase
	b.goals = append(b.goals, g)
	fmt.Printf("    %-90s %9.3f (%.3f – %.3f) %s\n", g.Name, g.Value, g.Low, g.High, g.Unit)
	return &b.goals[len(b.goals)-1]
}

func (g *goal) atLeast(target float64) {
	met := g.Value >= target
	g.Target, g.Met = &target, &met
}

// write writes the figures.
func (b *bench) write() {
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	seeds := make([]int, b.seedCount)
	for i := range seeds {
		seeds[i] = i + 1
	}
	content, err := json.MarshalIndent(map[string]any{
		"name":   "loader",
		"quick":  *quickRun,
		"commit": strings.TrimSpace(string(commit)),
		"date":   time.Now().UTC().Format(time.RFC3339),
		"machine": map[string]any{
			"cpus":   runtime.NumCPU(),
			"memory": memory(b),
			"kernel": strings.TrimSpace(string(kernel)),
			"gpu":    "",
		},
		"seeds": seeds,
		"settings": map[string]string{
			"tuner --loaders-reallocate": "always",
		},
		"command": command(),
		"phases":  b.phases,
		"goals":   b.goals,
		"details": b.details,
	}, "", "  ")
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(*outFile, append(content, '\n'), 0o644))
}

func command() string {
	var args []string
	for _, arg := range os.Args[1:] {
		if !strings.HasPrefix(arg, "-test.") && !strings.HasPrefix(arg, "-loader=") {
			args = append(args, arg)
		}
	}
	if len(args) == 0 {
		return "make bench-loader"
	}
	return fmt.Sprintf("make bench-loader ARGS=%q", strings.Join(args, " "))
}

// memory returns the memory of the machine, in bytes.
func memory(b *bench) int64 {
	text, err := os.ReadFile("/proc/meminfo")
	require.NoError(b.t, err)
	var kib int64
	_, err = fmt.Sscanf(string(text), "MemTotal: %d kB", &kib)
	require.NoError(b.t, err)
	return kib << 10
}
