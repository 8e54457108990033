package demo

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/table"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/growth"
)

// worthSaying filters events that the table or the changes show: the usual steps of a pod's life, and shares, which
// are shown once in force. Warnings pass. demo.log has every event.
func worthSaying(s cluster.Story) bool {
	switch s.Reason {
	case "Scheduled", "Pulling", "Pulled", "Created", "Started", "ResizeStarted", "ResizeCompleted", "CPUShareChanged",
		"JobArrived", "FirstMetric":
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

// strikeEvent describes a kill, or the return from one.
func strikeEvent(n chaos.News, at time.Time) table.Event {
	e := table.Event{At: at, Job: "chaos", From: "bench"}
	if n.Returned {
		e.Text, e.Ink = fmt.Sprintf("%s is back and ready after %.0f s", n.Binary, n.Absence().Seconds()), table.Green
		return e
	}
	e.Text, e.Ink = fmt.Sprintf("kill -9 of %s: process %s", n.Binary, strings.Trim(fmt.Sprint(n.Killed), "[]")), table.Red
	return e
}

// announcements are the coordinators' events that announce a change with its reason, some seconds before it is in
// force.
type announcements map[announcement]time.Time

type announcement struct {
	job  string
	what timeline.Aspect
}

// fresh bounds the time between an event and its change.
const fresh = 20 * time.Second

func (r *announcements) add(s cluster.Story) {
	what, ok := map[string]timeline.Aspect{"LoadersChanged": timeline.LoaderChange, "CategoryChanged": timeline.CategoryChange}[s.Reason]
	if !ok {
		return
	}
	if *r == nil {
		*r = announcements{}
	}
	(*r)[announcement{s.Object, what}] = s.At
}

// announced reports, once, whether an event has announced the change.
func (r *announcements) announced(c timeline.Change) bool {
	key := announcement{c.Job, c.What}
	at, ok := (*r)[key]
	delete(*r, key)
	return ok && c.At.Sub(at) < fresh
}

// noticeableShare is the least change of a GPU share that is shown as an event. The table has every change.
const noticeableShare = 0.1

// gpuShares has the GPU share of each job as it was last shown as an event.
type gpuShares map[string]growth.Share

// noticeable reports whether a change is worth an event, which then begins with the share that was last shown.
func (g *gpuShares) noticeable(c *timeline.Change, now timeline.Reading) bool {
	job, _ := now.Job(c.Job)
	if job.GPUShare == nil {
		return false
	}
	last, shown := (*g)[c.Job]
	if shown && math.Abs(float64(*job.GPUShare-last)) < noticeableShare {
		return false
	}
	if *g == nil {
		*g = gpuShares{}
	}
	(*g)[c.Job] = *job.GPUShare
	if shown {
		c.From = last.String()
	}
	return true
}
