package results

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// Report writes the conclusion for people: how long each job took, what Trellis was seen to change for each kind of job,
// and the difference that it made where there is another run to compare with.
func Report(w io.Writer, jobs workload.Workload, run, other *timeline.Timeline) {
	completions(w, run)
	seen(w, jobs, run)
	if other != nil {
		difference(w, run, other)
	}
}

func completions(w io.Writer, run *timeline.Timeline) {
	fmt.Fprintf(w, "\nCompletion, from submission to end, under %s\n\n", run.Name)
	fmt.Fprintf(w, "  %-12s %-6s %-9s %11s %11s %11s  %-10s %s\n", "JOB", "KIND", "STATE", "ARRIVED", "ENDED", "TOOK", "NODE", "RESTARTS")
	for _, j := range run.Last().Jobs {
		fmt.Fprintf(w, "  %-12s %-6s %-9s %11s %11s %11s  %-10s %d\n", j.Name, j.Kind, j.State,
			offset(run.Began, j.Submitted), offset(run.Began, j.Ended), span(j.Completion()), j.Node, j.Restarts)
	}
}

func seen(w io.Writer, jobs workload.Workload, run *timeline.Timeline) {
	fmt.Fprintf(w, "\nChanges seen, by kind of job\n\n  %-6s %10s %10s %10s\n", "KIND", "CPU SHARE", "LOADERS", "CATEGORY")
	complete := true
	for _, kind := range jobs.Kinds() {
		s := run.Count(kind)
		complete = complete && s.Complete()
		fmt.Fprintf(w, "  %-6s %10s %10s %10s\n", kind, count(s.Shares), count(s.Loaders), count(s.Categories))
	}
	if complete {
		fmt.Fprintln(w, "\n  Each kind saw at least one of each.")
	} else {
		fmt.Fprintln(w, "\n  NOT every kind saw at least one of each.")
	}
}

func count(n int) string {
	if n == 0 {
		return "NONE"
	}
	return fmt.Sprint(n)
}

func difference(w io.Writer, run, other *timeline.Timeline) {
	fmt.Fprintf(w, "\nThe same jobs under %s\n\n  %-12s %-6s %11s %11s %15s\n", other.Name, "JOB", "KIND", strings.ToUpper(run.Name), strings.ToUpper(other.Name), "CHANGE")
	differences, mean := run.Against(other)
	sooner, later := 0, 0
	for _, d := range differences {
		fmt.Fprintf(w, "  %-12s %-6s %11s %11s %15s\n", d.Job, d.Kind, span(d.Completion), span(d.Other), change(d))
		switch {
		case d.Relative() < 0:
			sooner++
		case d.Relative() > 0:
			later++
		}
	}
	fmt.Fprintf(w, "  %-12s %-6s %11s %11s %15s\n", "mean", "", span(mean.Completion), span(mean.Other), change(mean))
	fmt.Fprintf(w, "  %-12s %-6s %11s %11s %15s\n", "makespan", "", span(run.Makespan()), span(other.Makespan()),
		change(timeline.Difference{Completion: run.Makespan(), Other: other.Makespan()}))
	fmt.Fprintf(w, "\n  Under %s, of %d jobs %d ended sooner and %d later than under %s. One run of each: a few per cent mean nothing.\n",
		run.Name, len(differences), sooner, later, other.Name)
}

func change(d timeline.Difference) string {
	switch {
	case !d.Known():
		return "–"
	case d.Relative() > 0:
		return fmt.Sprintf("%.1f %% later", 100*d.Relative())
	}
	return fmt.Sprintf("%.1f %% sooner", -100*d.Relative())
}

func span(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

func offset(began, at time.Time) string {
	if at.IsZero() {
		return "–"
	}
	return fmt.Sprintf("%.0f s", max(at.Sub(began).Seconds(), 0))
}
