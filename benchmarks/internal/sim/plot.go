package sim

import (
	"fmt"
	"html"
	"strings"
)

// Sizes in pixels, and the range of the axes in per cent.
const (
	panel, margin, gap = 260.0, 70.0, 50.0
	lowest, highest    = -70.0, 30.0
)

// Plot draws a panel per machine, as SVG. A point is a policy's change of the mean completion (x) and of the mean
// time to 95 % (y): lower left is better. Filled points have exact sizes, hollow ones errors. Points outside the axes
// are drawn on the frame.
func Plot(cells []Cell) string {
	var b strings.Builder
	add := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	at, machines := map[string]int{}, []string{}
	for _, c := range cells {
		if name := c.Machine.String(); at[name] == 0 {
			machines = append(machines, name)
			at[name] = len(machines)
		}
	}
	width := 2*margin + float64(len(machines))*(panel+gap)
	add(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" font-family="sans-serif" font-size="12">`, width, panel+2*margin+20)
	add(`<rect width="100%%" height="100%%" fill="#ffffff"/>`)
	add(`<text x="%.0f" y="24" font-size="16">Change against fair sharing, per cent: mean completion across, mean time to 95 %% of the metric up; hollow: sizes wrong; on the frame: beyond it</text>`, margin)
	for _, name := range machines {
		frame(add, left(at[name]), name)
	}
	for _, c := range cells {
		x, y := left(at[c.Machine.String()])+scale(c.Completion.Value), margin+panel-scale(c.Good.Value)
		fill := colour(c.Policy)
		if c.Errors > 0 {
			fill = "#ffffff"
		}
		add(`<circle cx="%.1f" cy="%.1f" r="5" fill="%s" stroke="%s" stroke-width="2"><title>%s, %s: %s, %s</title></circle>`,
			x, y, fill, colour(c.Policy), html.EscapeString(c.Where()), c.Policy, c.Completion, c.Good)
	}
	for i, p := range Policies() {
		x := margin + 170*float64(i)
		add(`<circle cx="%.1f" cy="%.1f" r="5" fill="%s"/><text x="%.1f" y="%.1f">%s</text>`, x, panel+2*margin, colour(p.Name), x+12, panel+2*margin+4, p.Name)
	}
	add(`</svg>`)
	return b.String()
}

// frame draws a machine's axes.
func frame(add func(string, ...any), x float64, name string) {
	add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="none" stroke="#999999"/>`, x, margin, panel, panel)
	add(`<text x="%.1f" y="%.1f">%s</text>`, x, margin-8, html.EscapeString(name))
	for v := lowest; v <= highest; v += 20 {
		add(`<text x="%.1f" y="%.1f" text-anchor="middle" fill="#666666">%.0f</text>`, x+scale(v), margin+panel+16, v)
		add(`<text x="%.1f" y="%.1f" text-anchor="end" fill="#666666">%.0f</text>`, x-6, margin+panel-scale(v)+4, v)
	}
	add(`<path d="M%.1f %.1fv%.1fM%.1f %.1fh%.1f" stroke="#cccccc"/>`, x+scale(0), margin, panel, x, margin+panel-scale(0), panel)
}

func left(i int) float64 { return margin + float64(i-1)*(panel+gap) }

func scale(v float64) float64 {
	return panel * (min(max(v, lowest), highest) - lowest) / (highest - lowest)
}

func colour(policy string) string {
	switch policy {
	case Finish:
		return "#1f77b4"
	case Balanced:
		return "#2ca02c"
	case Growth:
		return "#9467bd"
	case KnownBalanced:
		return "#98df8a"
	case KnownGrowth:
		return "#c5b0d5"
	case "flowcon":
		return "#ff7f0e"
	}
	return "#d62728"
}
