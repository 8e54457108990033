package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// result is one row of the README's table: figures of one published run.
type result struct {
	// File is the run, below benchmarks/measured.
	File, Setting string
	// Gain and Harm name the figures to show.
	Gain, Harm string
}

// results are the rows. The third and the fourth missed their goals, and the fifth is what the policy of the literature does on the first.
var results = []result{
	{
		File:    "flowcon-15.json",
		Setting: "`harmless`, 15 jobs",
		Gain:    "15 random, harmless: mean completion",
		Harm:    "15 random, harmless: worst job",
	},
	{
		File:    "flowcon-05.json",
		Setting: "`harmless`, 5 jobs, a machine half as fast",
		Gain:    "5 random, harmless: mean completion",
		Harm:    "5 random, harmless: worst job",
	},
	{
		File:    "flowcon-10-growth.json",
		Setting: "`harmless` with objective `growth`, 10 jobs",
		Gain:    "10 random, harmless:growth: mean time to 95 % of the metric",
		Harm:    "10 random, harmless:growth: worst job",
	},
	{
		File:    "turns.json",
		Setting: "`harmless`, 10 jobs that compute on one GPU, a core",
		Gain:    "ten jobs, mean completion",
		Harm:    "ten jobs, worst job",
	},
	{
		File:    "flowcon-15.json",
		Setting: "`flowcon`, 15 jobs, for comparison",
		Gain:    "15 random, flowcon: mean completion",
		Harm:    "15 random, flowcon: worst job",
	},
}

// publishedRun is a file of benchmarks/measured.
type publishedRun struct {
	Commit string
	Goals  []goal
	Phases []struct{ Name, Commit string }
}

type goal struct {
	Name, Phase      string
	Value, Low, High float64
	Unit             string
	Target           *float64
	Met              *bool
}

// The table stands between these lines of the README.
const (
	figuresStart = "<!-- figures: make docs writes this table -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
)

// readmeWithFigures returns the README with the table of results as the published runs have it.
func readmeWithFigures(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return "", err
	}
	before, rest, started := strings.Cut(string(text), figuresStart)
	_, after, ended := strings.Cut(rest, figuresEnd)
	if !started || !ended {
		return "", fmt.Errorf("README.md has no place for figures: write %q and %q", figuresStart, figuresEnd)
	}
	table := header("setting", "result", "worst job", "commit")
	for _, r := range results {
		line, err := r.row(root)
		if err != nil {
			return "", err
		}
		table += line
	}
	return before + figuresStart + table + figuresEnd + after, nil
}

func (r result) row(root string) (string, error) {
	path := filepath.Join("benchmarks", "measured", r.File)
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return "", err
	}
	var published publishedRun
	if err := json.Unmarshal(text, &published); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	gain, gainOK := published.figure(r.Gain)
	harm, harmOK := published.figure(r.Harm)
	if !gainOK || !harmOK {
		return "", fmt.Errorf("%s has no figure %q or %q", path, r.Gain, r.Harm)
	}
	what := r.Gain[max(strings.LastIndex(r.Gain, ": "), strings.LastIndex(r.Gain, ", "))+2:]
	return row(r.Setting, what+" "+gain.String()+gain.missed(), harm.String(), code(published.commitOf(gain))), nil
}

// commitOf returns the commit at which a figure was measured.
func (r publishedRun) commitOf(g goal) string {
	for _, p := range r.Phases {
		if p.Name == g.Phase && p.Commit != "" {
			return p.Commit
		}
	}
	return r.Commit
}

func (r publishedRun) figure(name string) (goal, bool) {
	for _, g := range r.Goals {
		if g.Name == name {
			return g, true
		}
	}
	return goal{}, false
}

// String formats a median with its range.
func (g goal) String() string {
	return fmt.Sprintf("%s %s (%s to %s)", signed(g.Value), g.Unit, signed(g.Low), signed(g.High))
}

func (g goal) missed() string {
	if g.Met == nil || *g.Met {
		return ""
	}
	return fmt.Sprintf("; the goal of %s %s is missed", signed(*g.Target), g.Unit)
}

func signed(value float64) string {
	return strings.ReplaceAll(fmt.Sprintf("%+.1f", value), "-", "−")
}
