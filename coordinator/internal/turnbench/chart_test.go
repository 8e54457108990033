package turnbench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// chart draws the time held by each job, one panel per measurement.
type chart struct{ lines []line }

// line is the course of one job in one panel: the time held since the start of the panel, in seconds, at equal distances.
type line struct {
	Panel   string    `json:"panel"`
	Job     string    `json:"job"`
	Seconds float64   `json:"seconds"` // length of the panel
	Held    []float64 `json:"held"`
}

// points is the number of points of a line, after the first.
const points = 60

// add adds a panel. An empty window stands for the time from the first step to the last one of all jobs.
func (c *chart) add(panel string, w window, records map[string][]step) {
	if w.length() == 0 {
		w.from = math.MaxInt64
		for _, steps := range records {
			if len(steps) > 0 {
				w.from = min(w.from, steps[0].begin)
				w.to = max(w.to, lastEnd(steps))
			}
		}
	}
	for _, job := range slices.Sorted(maps.Keys(records)) {
		l := line{Panel: panel, Job: job, Seconds: w.length().Seconds(), Held: []float64{0}}
		for i := range points {
			until := w.from + w.length()*time.Duration(i+1)/points
			l.Held = append(l.Held, math.Round(1000*held(records[job], window{w.from, until}).Seconds())/1000)
		}
		c.lines = append(c.lines, l)
	}
}

// Sizes in pixels.
const (
	panelWidth, panelHeight = 420.0, 200.0
	margin                  = 50.0
)

// colours of the jobs of a panel, in the order of their names.
var colours = []string{"#2563eb", "#dc2626", "#16a34a", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f", "#475569", "#b45309"}

func (c *chart) svg() string {
	panels := slices.Compact(c.names())
	width := 2*margin + panelWidth + 120
	height := margin + float64(len(panels))*(panelHeight+2*margin)
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&s, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", width, height)
	for i, panel := range panels {
		c.panel(&s, panel, margin+float64(i)*(panelHeight+2*margin))
	}
	s.WriteString("</svg>\n")
	return s.String()
}

func (c *chart) names() (names []string) {
	for _, l := range c.lines {
		names = append(names, l.Panel)
	}
	return names
}

func (c *chart) panel(s *strings.Builder, name string, top float64) {
	var lines []line
	highest := 1e-9
	for _, l := range c.lines {
		if l.Panel == name {
			lines = append(lines, l)
			highest = max(highest, l.Held[len(l.Held)-1])
		}
	}
	bottom := top + panelHeight
	fmt.Fprintf(s, `<text x="%.0f" y="%.0f" font-weight="bold">Time held by each job, %s</text>`+"\n", margin, top-10, name)
	fmt.Fprintf(s, `<path d="M%.0f %.0fV%.0fH%.0f" fill="none" stroke="#64748b"/>`+"\n", margin, top, bottom, margin+panelWidth)
	fmt.Fprintf(s, `<text x="%.0f" y="%.0f" text-anchor="end">%.0f s</text>`+"\n", margin-6, top+10, highest)
	fmt.Fprintf(s, `<text x="%.0f" y="%.0f" text-anchor="end">%.0f s</text>`+"\n", margin+panelWidth, bottom+18, lines[0].Seconds)
	for i, l := range lines {
		var path strings.Builder
		for k, value := range l.Held {
			fmt.Fprintf(&path, " %.1f,%.1f", margin+panelWidth*float64(k)/points, bottom-panelHeight*value/highest)
		}
		colour := colours[i%len(colours)]
		fmt.Fprintf(s, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String()[1:], colour)
		fmt.Fprintf(s, `<text x="%.0f" y="%.0f" fill="%s">%s %.1f s</text>`+"\n", margin+panelWidth+10, top+14*float64(i+1), colour, l.Job, l.Held[len(l.Held)-1])
	}
}

func TestChart_AddsTheTimeHeldByEachJob(t *testing.T) {
	var c chart
	c.add("two", window{}, map[string][]step{
		"second": {{30 * time.Second, 60 * time.Second, 60 * time.Second}},
		"first":  {{0, 30 * time.Second, 60 * time.Second}},
	})
	require.Len(t, c.lines, 2)
	require.Equal(t, "first", c.lines[0].Job)
	require.Equal(t, []float64{15, 30, 30}, []float64{c.lines[0].Held[15], c.lines[0].Held[30], c.lines[0].Held[60]})
	require.Equal(t, []float64{0, 0, 30}, []float64{c.lines[1].Held[15], c.lines[1].Held[30], c.lines[1].Held[60]})
	require.Contains(t, c.svg(), "second 30.0 s")
}
