package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/tuner/internal/config"
)

// costGoal is one figure, in the format of all benchmarks of Trellis.
type costGoal struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Unit   string  `json:"unit"`
	Target float64 `json:"target"`
	Met    bool    `json:"met"`
}

// median returns a goal that the median of the runs is to reach, worst one that all are to reach.
func median(name string, runs []float64, unit string, target float64) costGoal {
	slices.Sort(runs)
	value := runs[len(runs)/2]
	return costGoal{name, value, runs[0], runs[len(runs)-1], unit, target, value <= target}
}

func worst(name string, runs []float64, unit string, target float64) costGoal {
	value := slices.Max(runs)
	return costGoal{name, value, slices.Min(runs), value, unit, target, value <= target}
}

func writeCost(t *testing.T, known int, goals []costGoal) {
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	command := "make bench-tuner"
	if *costQuick {
		command += ` ARGS="-quick"`
	}
	content, err := json.MarshalIndent(map[string]any{
		"name":   "tuner",
		"quick":  *costQuick,
		"commit": strings.TrimSpace(string(commit)),
		"date":   time.Now().UTC().Format(time.RFC3339),
		"machine": map[string]any{
			"cpus":   runtime.NumCPU(),
			"memory": machineMemory(t),
			"kernel": strings.TrimSpace(string(kernel)),
			"gpu":    "",
		},
		"seeds":   []int{},
		"command": command,
		"settings": map[string]string{
			"jobs":             fmt.Sprintf("%d on %d nodes, a sample each %v", jobCount, nodeCount, sampleInterval),
			"programs":         fmt.Sprint(known),
			"tuner --interval": config.DefaultInterval.String(),
		},
		"phases": []any{},
		"goals":  goals,
	}, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(*costFile, append(content, '\n'), 0o644))
	for _, g := range goals {
		t.Logf("%-32s %8.2f (%.2f to %.2f) %s, goal %g: %v", g.Name, g.Value, g.Low, g.High, g.Unit, g.Target, g.Met)
	}
}

// machineMemory returns the memory of the machine, in bytes.
func machineMemory(t *testing.T) int64 {
	text, err := os.ReadFile("/proc/meminfo")
	require.NoError(t, err)
	var kib int64
	_, err = fmt.Sscanf(string(text), "MemTotal: %d kB", &kib)
	require.NoError(t, err)
	return kib << 10
}
