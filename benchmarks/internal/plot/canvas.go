package plot

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// canvas collects the elements of an SVG. Coordinates are rounded to a tenth of a pixel.
type canvas struct{ b strings.Builder }

func (c *canvas) add(format string, values ...any) { fmt.Fprintf(&c.b, format+"\n", values...) }

func (c *canvas) rect(x, y, w, h float64, fill string) {
	c.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, x, y, max(w, 0), max(h, 0), fill)
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	c.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`, x1, y1, x2, y2, class)
}

func (c *canvas) text(x, y float64, class, text string) {
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(text)) // a strings.Builder never fails
	c.add(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, escaped.String())
}

func (c *canvas) path(points []point, class string) {
	if len(points) == 0 {
		return
	}
	var d strings.Builder
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&d, "%s%.1f %.1f", command, p.x, p.y)
	}
	c.add(`<path d="%s" class="%s"/>`, d.String(), class)
}

type point struct{ x, y float64 }

const style = `<style>
text { font: 11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #475569 }
.title { font-size: 19px; font-weight: 600; fill: #0f172a }
.job { font-size: 13px; font-weight: 600; fill: #0f172a }
.right { text-anchor: end }
.middle { text-anchor: middle }
.grid { stroke: #e2e8f0 }
.axis { stroke: #94a3b8 }
.end { stroke: #334155; stroke-width: 1.5 }
.otherend { stroke: #94a3b8; stroke-width: 1.5; stroke-dasharray: 4 3 }
.share, .gpu, .growth, .other { fill: none; stroke-linejoin: round }
.share { stroke: #1d4ed8; stroke-width: 2.2 }
.gpu { stroke: #16a34a; stroke-width: 2.2 }
.growth { stroke: #ea580c; stroke-width: 1.5 }
.other { stroke: #64748b; stroke-width: 1.5; stroke-dasharray: 4 3 }
</style>`
