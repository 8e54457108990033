package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/table"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

// worthSaying keeps out what the table and the changes tell anyway: the usual steps of a pod's life, and shares,
// which are told when they are in force. Warnings are always said; everything is in demo.log.
func worthSaying(s cluster.Story) bool {
	switch s.Reason {
	case "Scheduled", "Pulling", "Pulled", "Created", "Started", "ResizeStarted", "ResizeCompleted", "CPUShareChanged":
		return s.Warning
	}
	return true
}

func said(s cluster.Story) table.Event {
	e := table.Event{At: s.At, Job: s.Object, From: s.From, Text: strings.Join(strings.Fields(s.Text), " ")}
	if !strings.HasPrefix(s.From, "trellis") {
		e.Text = s.From + " " + s.Reason + ": " + e.Text
	}
	if s.Warning {
		e.Ink = table.Red
	}
	return e
}

// havoc tells of a kill, or of the return from one.
func havoc(n chaos.News, at time.Time) table.Event {
	e := table.Event{At: at, Job: "chaos", From: "bench"}
	if n.Returned {
		e.Text, e.Ink = fmt.Sprintf("%s is back and ready after %.0f s", n.Binary, n.Absence().Seconds()), table.Green
		return e
	}
	e.Text, e.Ink = fmt.Sprintf("kill -9 of %s: process %s", n.Binary, strings.Trim(fmt.Sprint(n.Killed), "[]")), table.Red
	return e
}

// rumours are the coordinators' events that announce a change with its reason, some seconds before it is seen in force.
type rumours map[rumour]time.Time

type rumour struct {
	job  string
	what timeline.Aspect
}

// fresh is how long after its event a change may be seen.
const fresh = 20 * time.Second

func (r *rumours) hear(s cluster.Story) {
	what, ok := map[string]timeline.Aspect{"LoadersChanged": timeline.LoaderChange, "CategoryChanged": timeline.CategoryChange}[s.Reason]
	if !ok {
		return
	}
	if *r == nil {
		*r = rumours{}
	}
	(*r)[rumour{s.Object, what}] = s.At
}

// told tells whether a change has been announced, once.
func (r *rumours) told(c timeline.Change) bool {
	key := rumour{c.Job, c.What}
	at, ok := (*r)[key]
	delete(*r, key)
	return ok && c.At.Sub(at) < fresh
}
