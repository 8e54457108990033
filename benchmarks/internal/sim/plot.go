package sim

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// Sizes in pixels, and the range of the axes in per cent.
const (
	panel, margin, gap = 260.0, 70.0, 50.0
	lowest, highest    = -70.0, 30.0
	columns            = 4
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
	rows := (len(machines) + columns - 1) / columns
	width := 2*margin + float64(min(len(machines), columns))*(panel+gap)
	legend := margin + float64(rows)*(panel+margin)
	add(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" font-family="sans-serif" font-size="12">`, max(width, 900), legend+20)
	add(`<rect width="100%%" height="100%%" fill="#ffffff"/>`)
	add(`<text x="%.0f" y="24" font-size="16">Change against fair sharing, per cent: mean completion across, mean time to 95 %% of the metric up; hollow: sizes wrong; on the frame: beyond it</text>`, margin)
	for _, name := range machines {
		x, y := corner(at[name])
		frame(add, x, y, name)
	}
	for _, c := range cells {
		x, y := corner(at[c.Machine.String()])
		x, y = x+scale(c.Completion.Value), y+panel-scale(c.Good.Value)
		fill := colour(c.Policy)
		if c.Errors > 0 {
			fill = "#ffffff"
		}
		add(`<circle cx="%.1f" cy="%.1f" r="5" fill="%s" stroke="%s" stroke-width="2"><title>%s, %s: %s, %s</title></circle>`,
			x, y, fill, colour(c.Policy), html.EscapeString(c.Where()), c.Policy, c.Completion, c.Good)
	}
	x := margin
	for _, p := range Policies() {
		if slices.ContainsFunc(cells, func(c Cell) bool { return c.Policy == p.Name }) {
			add(`<circle cx="%.1f" cy="%.1f" r="5" fill="%s"/><text x="%.1f" y="%.1f">%s</text>`, x, legend, colour(p.Name), x+12, legend+4, p.Name)
			x += 120
		}
	}
	add(`</svg>`)
	return b.String()
}

// frame draws a machine's axes, from their upper left corner.
func frame(add func(string, ...any), x, y float64, name string) {
	add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="none" stroke="#999999"/>`, x, y, panel, panel)
	add(`<text x="%.1f" y="%.1f">%s</text>`, x, y-8, html.EscapeString(name))
	for v := lowest; v <= highest; v += 20 {
		add(`<text x="%.1f" y="%.1f" text-anchor="middle" fill="#666666">%.0f</text>`, x+scale(v), y+panel+16, v)
		add(`<text x="%.1f" y="%.1f" text-anchor="end" fill="#666666">%.0f</text>`, x-6, y+panel-scale(v)+4, v)
	}
	add(`<path d="M%.1f %.1fv%.1fM%.1f %.1fh%.1f" stroke="#cccccc"/>`, x+scale(0), y, panel, x, y+panel-scale(0), panel)
}

// corner returns the upper left corner of a panel, of which the first is 1.
func corner(i int) (x, y float64) {
	return margin + float64((i-1)%columns)*(panel+gap), margin + float64((i-1)/columns)*(panel+margin)
}

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
