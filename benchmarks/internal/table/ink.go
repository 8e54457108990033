package table

import (
	"strings"
	"unicode/utf8"

	"github.com/trellis-gpu/trellis/growth"
)

// Ink is an ANSI style, by its parameters.
type Ink string

// The styles in use.
const (
	Normal Ink = ""
	Faint  Ink = "2"
	Bold   Ink = "1"
	Green  Ink = "32"
	Yellow Ink = "33"
	Blue   Ink = "34"
	Red    Ink = "31"
	Cyan   Ink = "36"
)

// Style is how a frame is drawn.
type Style struct {
	// Width is the number of columns. Height is the number of lines; 0 means no limit.
	Width, Height int
	Colour        bool
}

func (s Style) paint(ink Ink, text string) string {
	if !s.Colour || ink == Normal || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + string(ink) + "m" + text + "\x1b[0m"
}

func categoryInk(c growth.Category) Ink {
	switch c {
	case growth.Progressing:
		return Green
	case growth.Watching:
		return Yellow
	case growth.Converged:
		return Blue
	}
	return Faint
}

// bar fills part of width cells, in eighths.
func bar(part float64, width int) string {
	eighths := []rune(" ▏▎▍▌▋▊▉█")
	filled := int(min(max(part, 0), 1)*float64(width)*8 + 0.5)
	var b strings.Builder
	for range width {
		b.WriteRune(eighths[min(max(filled, 0), 8)])
		filled -= 8
	}
	return b.String()
}

// spark draws values of 0..1 as a row of small columns, right-aligned in width.
func spark(values []growth.Growth, width int) string {
	columns := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for range width - len(values) {
		b.WriteByte(' ')
	}
	for _, v := range values {
		b.WriteRune(columns[int(min(max(float64(v), 0), 1)*float64(len(columns)-1)+0.5)])
	}
	return b.String()
}

// fit pads or cuts text to width characters.
func fit(text string, width int, right bool) string {
	n := utf8.RuneCountInString(text)
	switch {
	case n > width && width > 1:
		return string([]rune(text)[:width-1]) + "…"
	case n > width:
		return string([]rune(text)[:width])
	case right:
		return strings.Repeat(" ", width-n) + text
	}
	return text + strings.Repeat(" ", width-n)
}
