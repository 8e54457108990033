package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// journal is the published run that the README's chart shows.
const journal = "benchmarks/measured/flowcon-15.jsonl"

// pass is one line of a journal: one repeat of a schedule under one policy.
type pass struct {
	Policy, Commit string
	Repeat         int
	Jobs           []struct {
		Name, Kind        string
		CompletionSeconds float64
	}
}

// bar is one job: the median time from its submission to its end, over all repeats.
type bar struct {
	Name           string
	Fair, Harmless float64
}

func readBars(root string) (bars []bar, repeats int, commit string, err error) {
	text, err := os.ReadFile(filepath.Join(root, journal))
	if err != nil {
		return nil, 0, "", err
	}
	times := map[string]map[string][]float64{}
	for line := range bytes.Lines(text) {
		var p pass
		if err := json.Unmarshal(line, &p); err != nil {
			return nil, 0, "", fmt.Errorf("%s: %w", journal, err)
		}
		repeats, commit = max(repeats, p.Repeat), p.Commit
		for _, j := range p.Jobs {
			name := strings.TrimPrefix(j.Name, "job-") + " " + j.Kind
			if times[name] == nil {
				times[name] = map[string][]float64{}
			}
			times[name][p.Policy] = append(times[name][p.Policy], j.CompletionSeconds)
		}
	}
	for name, byPolicy := range times {
		bars = append(bars, bar{name, median(byPolicy["fair"]), median(byPolicy["harmless"])})
	}
	slices.SortFunc(bars, func(a, b bar) int {
		return cmp.Or(cmp.Compare(a.Harmless, b.Harmless), cmp.Compare(a.Name, b.Name))
	})
	return bars, repeats, commit, nil
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}

// Sizes of the chart in pixels.
const (
	rowHeight   = 24
	left, right = 90, 20
	top, bottom = 62, 40
	chartWidth  = 720
)

const (
	fairColour     = "#b8c0cc"
	harmlessColour = "#1a7f5a"
)

// chart draws the completion of each job under both policies as SVG.
func chart(root string) (string, error) {
	bars, repeats, commit, err := readBars(root)
	if err != nil {
		return "", err
	}
	longest := 0.0
	for _, b := range bars {
		longest = max(longest, b.Fair, b.Harmless)
	}
	scale := (chartWidth - left - right) / longest
	height := top + rowHeight*len(bars) + bottom
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `, chartWidth, height)
	svg.WriteString(`font-family="sans-serif" font-size="12" fill="#24292f">` + "\n")
	fmt.Fprintf(&svg, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", chartWidth, height)
	fmt.Fprintf(&svg, `<text x="%d" y="22" font-size="14" font-weight="bold">`, left)
	fmt.Fprintf(&svg, "From submission to end: %d training jobs on one core</text>\n", len(bars))
	legend(&svg, left, fairColour, "fair sharing")
	legend(&svg, left+110, harmlessColour, "harmless")
	for seconds := 0.0; seconds <= longest; seconds += 100 {
		x := left + seconds*scale
		fmt.Fprintf(&svg, `<line x1="%.0f" y1="%d" x2="%.0f" y2="%d" stroke="#e3e6ea"/>`, x, top-6, x, height-bottom)
		fmt.Fprintf(&svg, `<text x="%.0f" y="%d" text-anchor="middle" fill="#57606a">`, x, height-bottom+16)
		fmt.Fprintf(&svg, "%.0f s</text>\n", seconds)
	}
	for i, b := range bars {
		y := top + i*rowHeight
		fmt.Fprintf(&svg, `<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, y+14, b.Name)
		fmt.Fprintf(&svg, `<rect x="%d" y="%d" width="%.1f" height="8" fill="%s"/>`, left, y+1, b.Fair*scale, fairColour)
		fmt.Fprintf(&svg, `<rect x="%d" y="%d" width="%.1f" height="9" fill="%s"/>`+"\n", left, y+9, b.Harmless*scale, harmlessColour)
	}
	fmt.Fprintf(&svg, `<text x="%d" y="%d" font-size="11" fill="#57606a">`, left, height-8)
	fmt.Fprintf(&svg, "Medians of %d repeats at %s. ", repeats, commit)
	fmt.Fprintf(&svg, "Each job is a real PyTorch training. From %s.</text>\n</svg>\n", journal)
	return svg.String(), nil
}

func legend(svg *strings.Builder, x int, colour, label string) {
	fmt.Fprintf(svg, `<rect x="%d" y="34" width="14" height="9" fill="%s"/>`, x, colour)
	fmt.Fprintf(svg, `<text x="%d" y="43">%s</text>`+"\n", x+20, label)
}
