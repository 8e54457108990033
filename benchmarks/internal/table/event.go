package table

import (
	"fmt"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/growth"
)

// Event is a line of the event list: an observed change, or a Kubernetes event.
type Event struct {
	At   time.Time `json:"at"`
	Job  string    `json:"job,omitempty"`
	From string    `json:"from"`
	Text string    `json:"text"`
	Ink  Ink       `json:"-"`
}

func (e Event) line(began time.Time, s Style) string {
	text := strings.TrimRight(fit(fmt.Sprintf("%6s  %-10s %s", clock(e.At.Sub(began)), e.Job, e.Text), max(s.Width, 20), false), " ")
	return s.paint(e.Ink, text)
}

// Described describes a change in words.
func Described(c timeline.Change) Event {
	e := Event{At: c.At, Job: c.Job, From: "bench"}
	switch c.What {
	case timeline.StateChange:
		e.Text = c.To
		switch timeline.State(c.To) {
		case timeline.Failed, timeline.Gone:
			e.Ink = Red
		case timeline.Finished:
			e.Ink = Cyan
		}
	case timeline.NodeChange:
		e.Text = "placed on " + c.To
	case timeline.CategoryChange:
		e.Text, e.Ink = fmt.Sprintf("%s → %s", c.From, c.To), categoryInk(growth.Category(c.To))
	case timeline.ShareChange:
		e.Text, e.Ink = fmt.Sprintf("CPU request %s → %s, in place", c.From, c.To), Blue
	case timeline.GPUShareChange:
		e.Text, e.Ink = fmt.Sprintf("GPU share %s → %s", c.From, c.To), Blue
	case timeline.LoaderChange:
		e.Text, e.Ink = fmt.Sprintf("data loaders %s → %s", c.From, c.To), Cyan
	case timeline.RestartChange:
		e.Text, e.Ink = fmt.Sprintf("container restarted, %s times now", c.To), Red
	default:
		e.Text = fmt.Sprintf("%s %s → %s", c.What, c.From, c.To)
	}
	return e
}
