package sim

import (
	"fmt"
	"io"
	"strings"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// The figures of a cell, in per cent of fair sharing's, except those that name another unit.
const (
	completed = "mean completion"
	good      = "mean time to 95 %"
	best      = "best job"
	worst     = "worst job"
	harmed    = "jobs more than 5 % slower"
	makespan  = "makespan"
	latest    = "greatest delay"
)

// Goals returns all figures. Those of harmless have targets, except on machines with recorded losses or listed jobs.
func Goals(cells []Cell) []results.Goal {
	var goals []results.Goal
	for _, c := range cells {
		for _, f := range []struct {
			name, unit string
			is         Mean
		}{
			{completed, "%", c.Completion}, {good, "%", c.Good}, {best, "%", c.Best}, {worst, "%", c.Worst},
			{harmed, "% of jobs", c.Harmed}, {makespan, "×", c.Makespan},
		} {
			g := results.Goal{Name: fmt.Sprintf("%s, %s: %s", c.Where(), c.Policy, f.name), Unit: f.unit, Value: f.is.Value, Low: f.is.Low, High: f.is.High}
			if target, judged := c.targets()[f.name]; judged {
				met := f.is.Value <= target
				g.Target, g.Met = &target, &met
			}
			goals = append(goals, g)
		}
	}
	return goals
}

// targets returns the upper bounds of a cell's figures.
func (c Cell) targets() map[string]float64 {
	if c.Machine.Recorded || c.Machine.Unsized > 0 || len(c.Machine.Listed) > 0 {
		return nil
	}
	at := map[string]float64{harmed: 1, makespan: 1.01}
	if c.Errors > 0 {
		at[harmed] = 3
	}
	if c.Machine.GPUs > 0 {
		c.addGPUTargets(at)
		return at
	}
	return c.addCoreTargets(at)
}

// addCoreTargets returns nil for a policy without targets.
func (c Cell) addCoreTargets(at map[string]float64) map[string]float64 {
	one, wrong := c.Machine.Cores == 1, c.Errors > 0
	switch {
	case c.Policy == Balanced && !one:
		at[completed], at[good] = -30, -25
	case c.Policy == Balanced && wrong:
		at[completed], at[good] = -33, -26
	case c.Policy == Balanced:
		at[completed], at[good] = -32, -29
	case c.Policy == Finish && one:
		at[completed] = -40
	case c.Policy == Growth && one:
		at[good] = -50
	case c.Policy != Finish && c.Policy != Growth:
		return nil
	}
	return at
}

func (c Cell) addGPUTargets(at map[string]float64) {
	if c.Machine.GPUs == 1 && c.Machine.Speeds == nil {
		at[completed], at[good], at[best], at[worst] = -32, -25, -80, 5
	}
}

// Where names the machine and the errors.
func (c Cell) Where() string {
	sizes := "sizes exact"
	if c.Errors > 0 {
		sizes = fmt.Sprintf("sizes ±%.0f %%", 100*c.Errors)
	}
	if c.Machine.History != "" {
		sizes = string(c.Machine.History)
	}
	if c.Machine.Unsized > 0 {
		sizes += fmt.Sprintf(", %.0f %% of jobs without", 100*c.Machine.Unsized)
	}
	return fmt.Sprintf("%s, %s", c.Machine, sizes)
}

// String returns a text such as "8 cores, jobs of 1/2/4/8".
func (m Machine) String() string {
	switch {
	case len(m.Listed) > 0:
		return m.textOfListed()
	case m.GPUs > 0:
		return m.textOnGPUs()
	case m.Again:
		return fmt.Sprintf("%g core, recorded losses, kinds that ran before", m.Cores)
	case m.Recorded:
		return fmt.Sprintf("%g core, recorded losses", m.Cores)
	}
	if m.Cores == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%g cores, jobs of %s", m.Cores, strings.ReplaceAll(strings.Trim(fmt.Sprint(m.Limits), "[]"), " ", "/"))
}

// Table prints the cells and then the goals.
func Table(w io.Writer, cells []Cell, goals []results.Goal) {
	before, width := "", 18
	for _, c := range cells {
		width = max(width, len(c.Policy))
	}
	for _, c := range cells {
		if c.Where() != before {
			before = c.Where()
			fmt.Fprintf(w, "\n%s: change against fair sharing, %d jobs\n\n", before, c.Machine.Jobs())
			fmt.Fprintf(w, "  %-*s %16s %16s %9s %9s %9s %9s %9s\n", width, "POLICY", "COMPLETION", "TIME TO 95 %", "WORST", "BEST", "HARMED", "MAKESPAN", "LATEST")
		}
		fmt.Fprintf(w, "  %-*s %16s %16s %+8.1f%% %+8.1f%% %8.2f%% %8.3f× %7.1f s\n", width, c.Policy, c.Completion, c.Good,
			c.Worst.Value, c.Best.Value, c.Harmed.Value, c.Makespan.Value, c.Latest)
	}
	missed, judged := 0, 0
	for _, g := range goals {
		if g.Met == nil {
			continue
		}
		if judged++; !*g.Met {
			if missed++; missed == 1 {
				fmt.Fprintf(w, "\nGoals that were NOT met\n\n")
			}
			fmt.Fprintf(w, "  %s: %.2f %s (%.2f to %.2f), goal %g\n", g.Name, g.Value, g.Unit, g.Low, g.High, *g.Target)
		}
	}
	if judged > 0 {
		fmt.Fprintf(w, "\n%d of %d goals met.\n", judged-missed, judged)
	}
}

// String returns a text such as "-33.8 ±0.4 %".
func (m Mean) String() string { return fmt.Sprintf("%+.1f ±%.1f %%", m.Value, (m.High-m.Low)/2) }
