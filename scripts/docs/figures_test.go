package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResultRow_ShowsHarmAndMissedGoals(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "benchmarks", "measured")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"commit": "abc, def", "phases": [{"name": "all"}, {"name": "six", "commit": "def"}], "goals": [
		{"name": "5, harmless: mean completion", "value": -31.4, "low": -41.2, "high": 2.6, "unit": "%", "target": -50, "met": false},
		{"name": "six jobs, makespan", "phase": "six", "value": 1, "low": 1, "high": 1, "unit": "%"},
		{"name": "5, harmless: worst job", "value": 8.5, "low": 0, "high": 9, "unit": "%"}]}`
	if err := os.WriteFile(filepath.Join(folder, "a.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := result{File: "a.json", Setting: "five", Gain: "5, harmless: mean completion", Harm: "5, harmless: worst job"}
	got, err := r.row(root)
	want := "| five | mean completion −31.4 % (−41.2 to +2.6); the goal of −50.0 % is missed | +8.5 % (+0.0 to +9.0) | `abc, def` |\n"
	if err != nil || got != want {
		t.Errorf("got %q, error %v, want %q", got, err, want)
	}
	r = result{File: "a.json", Setting: "six", Gain: "six jobs, makespan", Harm: "5, harmless: worst job"}
	if got, err := r.row(root); err != nil || got != "| six | makespan +1.0 % (+1.0 to +1.0) | +8.5 % (+0.0 to +9.0) | `def` |\n" {
		t.Errorf("a phase with its own commit: got %q, error %v", got, err)
	}
	r.Harm = "none"
	if _, err := r.row(root); err == nil || !strings.Contains(err.Error(), "has no figure") {
		t.Errorf("an unknown figure: %v", err)
	}
}

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(tc.values); got != tc.want {
			t.Errorf("median of %v is %v", tc.values, got)
		}
	}
}
