package results

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// Measured returns a figure with the median and the range of its values.
func Measured(name, unit string, values []float64) Goal {
	if len(values) == 0 {
		return Goal{Name: name, Unit: unit}
	}
	return spread(slices.Sorted(slices.Values(values))).goal(name, unit)
}

// AtMost sets a target that the median must not exceed.
func (g Goal) AtMost(target float64) Goal { return g.atMost(target) }

// AtLeast sets a target that the median must reach.
func (g Goal) AtLeast(target float64) Goal {
	met := g.exact >= target
	g.Target, g.Met = &target, &met
	return g
}

// Missed returns the names of the goals that were missed.
func (s Summary) Missed() []string {
	var missed []string
	for _, g := range s.Goals {
		if g.Met != nil && !*g.Met {
			missed = append(missed, g.Name)
		}
	}
	return missed
}

// Write writes the summary as JSON and creates the file's folder.
func (s Summary) Write(path string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Table prints one figure per line.
func Table(w io.Writer, goals []Goal) error {
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "FIGURE\tMEDIAN\tRANGE\tUNIT\tTARGET\tMET")
	for _, g := range goals {
		target, met := "", ""
		if g.Target != nil {
			target, met = fmt.Sprintf("%g", *g.Target), strings.ToUpper(fmt.Sprint(*g.Met))
		}
		fmt.Fprintf(lines, "%s\t%.2f\t%.2f – %.2f\t%s\t%s\t%s\n", g.Name, g.Value, g.Low, g.High, g.Unit, target, met)
	}
	return lines.Flush()
}
