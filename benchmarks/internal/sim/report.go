package sim

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// Report is sim.json, in the form that all of Trellis' benchmarks share.
type Report struct {
	Name    string          `json:"name"`
	Quick   bool            `json:"quick,omitempty"`
	Commit  string          `json:"commit"`
	Date    time.Time       `json:"date"`
	Machine results.Machine `json:"machine"`
	Seeds   []uint32        `json:"seeds"`
	Command string          `json:"command"`
	Seconds float64         `json:"seconds"`
	Goals   []results.Goal  `json:"goals"`
	Cells   []Cell          `json:"cells"`
}

// Goals judges harmless by what it promises, against fair sharing of the same jobs.
func Goals(cells []Cell) []results.Goal {
	var goals []results.Goal
	add := func(c Cell, what, unit string, m Mean, target float64) {
		met := m.Value <= target
		goals = append(goals, results.Goal{
			Name: fmt.Sprintf("%s, %s: %s", c.where(), c.Policy, what), Unit: unit,
			Value: m.Value, Low: m.Low, High: m.High, Target: &target, Met: &met,
		})
	}
	for _, c := range cells {
		switch c.Policy {
		case Finish, Balanced, Growth:
		default:
			continue
		}
		if c.Machine.Recorded { // told, and no part of what is promised
			continue
		}
		one := c.Machine.Cores == 1
		harmed, completion, good := 1.0, -30.0, -25.0
		if c.Errors > 0 {
			harmed = 3
		}
		if one {
			completion, good = -32, -29
			if c.Errors > 0 {
				completion, good = -33, -26
			}
		}
		add(c, "jobs more than 5 % slower", "% of jobs", c.Harmed, harmed)
		add(c, "makespan", "×", c.Makespan, 1.01)
		switch {
		case c.Policy == Balanced:
			add(c, "mean completion", "%", c.Completion, completion)
			add(c, "mean time to 95 %", "%", c.Good, good)
		case c.Policy == Finish && one:
			add(c, "mean completion", "%", c.Completion, -40)
		case c.Policy == Growth && one:
			add(c, "mean time to 95 %", "%", c.Good, -50)
		}
	}
	return goals
}

// where names the machine and the errors for people.
func (c Cell) where() string {
	sizes := "sizes exact"
	if c.Errors > 0 {
		sizes = fmt.Sprintf("sizes ±%.0f %%", 100*c.Errors)
	}
	return fmt.Sprintf("%s, %s", c.Machine, sizes)
}

// String is such as "8 cores, jobs of 1/2/4/8".
func (m Machine) String() string {
	switch {
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

// Table writes the cells and then the goals, for people.
func Table(w io.Writer, cells []Cell, goals []results.Goal) {
	before := ""
	for _, c := range cells {
		if c.where() != before {
			before = c.where()
			fmt.Fprintf(w, "\n%s: change against fair sharing, %d jobs\n\n", before, c.Machine.Jobs())
			fmt.Fprintf(w, "  %-18s %16s %16s %9s %9s %9s %9s %9s\n", "POLICY", "COMPLETION", "TIME TO 95 %", "WORST", "BEST", "HARMED", "MAKESPAN", "LATEST")
		}
		fmt.Fprintf(w, "  %-18s %16s %16s %+8.1f%% %+8.1f%% %8.2f%% %8.3f× %7.1f s\n", c.Policy, c.Completion, c.Good,
			c.Worst.Value, c.Best.Value, c.Harmed.Value, c.Makespan.Value, c.Latest)
	}
	missed := 0
	for _, g := range goals {
		if !*g.Met {
			if missed++; missed == 1 {
				fmt.Fprintf(w, "\nGoals that were NOT met\n\n")
			}
			fmt.Fprintf(w, "  %s: %.2f %s (%.2f to %.2f), goal %g\n", g.Name, g.Value, g.Unit, g.Low, g.High, *g.Target)
		}
	}
	fmt.Fprintf(w, "\n%d of %d goals met.\n", len(goals)-missed, len(goals))
}

// String is such as "-33.8 ±0.4 %".
func (m Mean) String() string { return fmt.Sprintf("%+.1f ±%.1f %%", m.Value, (m.High-m.Low)/2) }
