package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/growth"
)

// Sizes in pixels.
const (
	columns            = 3
	panelW, panelH     = 330.0, 130.0
	gapX, gapY         = 58.0, 78.0
	marginX, marginTop = 60.0, 150.0
	marginBottom       = 52.0
)

// SVG draws a run. Shares and ends of a second run, under another policy, are dashed.
func SVG(run, other *timeline.Timeline) string {
	jobs := run.Last().Jobs
	rows := (len(jobs) + columns - 1) / columns
	width := 2*marginX + columns*panelW + (columns-1)*gapX
	height := marginTop + float64(rows)*panelH + float64(max(rows-1, 0))*gapY + marginBottom
	c := &canvas{}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">`, width, height, width, height)
	c.add("%s", style)
	c.rect(0, 0, width, height, "#ffffff")
	c.text(marginX, 38, "title", shares(run)+" and growth of each job under "+run.Name)
	c.text(marginX, 58, "", subtitle(run, other))
	legend(c, 84, run, other)
	end := axisEnd(run, other)
	for i, job := range jobs {
		p := panel{
			canvas: c, end: end,
			x: marginX + float64(i%columns)*(panelW+gapX), y: marginTop + float64(i/columns)*(panelH+gapY),
		}
		p.draw(job, run, other)
	}
	c.add("</svg>")
	return c.b.String()
}

// dividesGPUs reports whether the time of GPUs was divided at any time of a run.
func dividesGPUs(run *timeline.Timeline) bool {
	return slices.ContainsFunc(run.Readings, func(r timeline.Reading) bool {
		return slices.ContainsFunc(r.Jobs, func(j timeline.Job) bool { return j.GPUShare != nil })
	})
}

func shares(run *timeline.Timeline) string {
	if dividesGPUs(run) {
		return "CPU share, GPU share"
	}
	return "CPU share"
}

func subtitle(run, other *timeline.Timeline) string {
	text := fmt.Sprintf("%d jobs, all done after %s", len(run.Last().Jobs), seconds(run.Makespan()))
	if !run.Last().Over() || run.Makespan() == 0 {
		text = fmt.Sprintf("%d jobs, not all of which ended", len(run.Last().Jobs))
	}
	nodes := run.Last().Nodes
	if slices.ContainsFunc(nodes, func(n timeline.Node) bool { return n.Emulated }) {
		text += ", on emulated GPUs"
	}
	if slices.ContainsFunc(nodes, func(n timeline.Node) bool { return n.Emulated && n.Computes }) {
		text += " (GPU shares: emulated compute)"
	}
	if other != nil {
		text += fmt.Sprintf(" (under %s after %s)", other.Name, seconds(other.Makespan()))
	}
	return text + ". Time in seconds since the first arrival."
}

func legend(c *canvas, y float64, run, other *timeline.Timeline) {
	x := marginX
	entry := func(draw func(x float64), text string) {
		draw(x)
		c.text(x+26, y+4, "", text)
		x += 44 + 6.4*float64(len(text))
	}
	line := func(class string) func(float64) {
		return func(x float64) { c.line(x, y, x+20, y, class) }
	}
	entry(line("share"), "CPU share")
	if dividesGPUs(run) {
		entry(line("gpu"), "GPU share")
	}
	entry(line("growth"), "growth")
	if other != nil {
		entry(line("other"), "CPU share under "+other.Name)
	}
	entry(line("end"), "end")
	for _, category := range []growth.Category{growth.Progressing, growth.Watching, growth.Converged} {
		entry(func(x float64) { c.rect(x, y-7, 20, 14, fill(category)) }, string(category))
	}
}

func fill(category growth.Category) string {
	switch category {
	case growth.Progressing:
		return "#dcfce7"
	case growth.Watching:
		return "#fef3c7"
	case growth.Converged:
		return "#dbeafe"
	}
	return "#f8fafc"
}

// axisEnd is the end of every panel's time axis: after the last reading of any run.
func axisEnd(runs ...*timeline.Timeline) time.Duration {
	end := 10 * time.Second
	for _, run := range runs {
		if run != nil && len(run.Readings) > 0 {
			end = max(end, run.Last().At.Sub(run.Began))
		}
	}
	step := tick(end)
	return (end + step - 1) / step * step
}

// tick returns a round distance, for about six ticks per axis.
func tick(end time.Duration) time.Duration {
	for _, step := range []int{5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600} {
		if d := time.Duration(step) * time.Second; end <= 7*d {
			return d
		}
	}
	return end / 6
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.0f s", math.Round(d.Seconds())), ".0")
}
