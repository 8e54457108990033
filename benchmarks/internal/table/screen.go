package table

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

// eventsKept is the number of events that a Live screen keeps.
const eventsKept = 50

// Live redraws a frame in place on an ANSI terminal.
type Live struct {
	Out io.Writer
	// Size returns the terminal's width and height, which may change at any time.
	Size func() (width, height int)

	events []Event
	drawn  int
}

// Say adds an event to the frame.
func (l *Live) Say(e Event) {
	l.events = append(l.events, e)
	l.events = l.events[max(len(l.events)-eventsKept, 0):]
}

// Show draws a frame over the previous one.
func (l *Live) Show(line *timeline.Timeline) {
	width, height := l.Size()
	frame := Render(line, l.events, Style{Width: width, Height: height, Colour: true})
	var b strings.Builder
	b.WriteString("\x1b[?25l") // no cursor while it draws
	if l.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", l.drawn)
	}
	for text := range strings.Lines(frame) {
		b.WriteString(strings.TrimSuffix(text, "\n") + "\x1b[K\n")
	}
	b.WriteString("\x1b[J\x1b[?25h")
	l.drawn = strings.Count(frame, "\n")
	fmt.Fprint(l.Out, b.String())
}

// Done leaves the last frame on the screen; later output appears below it.
func (l *Live) Done() { l.events, l.drawn = nil, 0 }

// Plain prints one line per event, and a table every Every.
type Plain struct {
	Out   io.Writer
	Every time.Duration

	began time.Time
	shown time.Time
}

// plainWidth has room for every column.
const plainWidth = 200

// Say prints an event.
func (p *Plain) Say(e Event) {
	if p.began.IsZero() {
		p.began = e.At
	}
	fmt.Fprintln(p.Out, strings.TrimRight(e.line(p.began, Style{Width: plainWidth}), " "))
}

// Show prints the table if it is due.
func (p *Plain) Show(line *timeline.Timeline) {
	p.began = line.Began
	at := line.Last().At
	if at.Sub(p.shown) < p.Every && !line.Last().Over() {
		return
	}
	p.shown = at
	fmt.Fprintf(p.Out, "\n%s\n", Render(line, nil, Style{Width: plainWidth}))
}

// Done ends a run.
func (p *Plain) Done() { p.began, p.shown = time.Time{}, time.Time{} }

// Stream writes events as JSON lines.
type Stream struct{ Out io.Writer }

// Say writes an event.
func (s Stream) Say(e Event) { _ = json.NewEncoder(s.Out).Encode(e) }

// Show does nothing: Say has written every change.
func (s Stream) Show(*timeline.Timeline) {}

// Done does nothing.
func (s Stream) Done() {}
