package results

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// Report prints the conclusion: the completion of each job, the changes that Trellis made for each kind of job, the
// recovery of killed binaries, and the difference between policies. It prints the first of several rounds in full.
func Report(w io.Writer, jobs workload.Workload, rounds ...Round) {
	first := rounds[0]
	completions(w, first.Run)
	seen(w, jobs, first.Run)
	kills(w, first.Killed)
	if compared := compared(rounds); len(compared) > 0 {
		difference(w, compared[0])
		summary(w, compared)
	}
}

func completions(w io.Writer, run *timeline.Timeline) {
	fmt.Fprintf(w, "\nCompletion, from submission to end, under %s\n\n", run.Name)
	fmt.Fprintf(w, "  %-13s %-11s %-9s %11s %11s %11s  %-10s %8s %s\n", "JOB", "KIND", "STATE", "ARRIVED", "ENDED", "TOOK", "NODE", "RESTARTS", "REFUSED")
	for _, j := range run.Last().Jobs {
		fmt.Fprintf(w, "  %-13s %-11s %-9s %11s %11s %11s  %-10s %8d %7d\n", j.Name, j.Kind, j.State,
			offset(run.Began, j.Submitted), offset(run.Began, j.Ended), span(j.Completion()), j.Node, j.Restarts, j.Refusals)
	}
}

func seen(w io.Writer, jobs workload.Workload, run *timeline.Timeline) {
	fmt.Fprintf(w, "\nChanges seen, by kind of job\n\n  %-11s %10s %10s %10s %10s\n", "KIND", "CPU SHARE", "GPU SHARE", "LOADERS", "CATEGORY")
	for _, kind := range jobs.Kinds() {
		s := run.Count(kind)
		fmt.Fprintf(w, "  %-11s %10s %10s %10s %10s\n", kind, share(s.Shares, s), share(s.GPUShares, s), count(s.Loaders), count(s.Categories))
	}
	if Missed(jobs, run) == nil {
		fmt.Fprintln(w, "\n  Each kind saw at least one of each: a change of CPU or GPU share, of loaders, and of category.")
	} else {
		fmt.Fprintln(w, "\n  NOT every kind saw at least one of each.")
	}
}

func kills(w io.Writer, killed []chaos.Outcome) {
	if len(killed) == 0 {
		return
	}
	fmt.Fprintf(w, "\nKilled during the run, by kill -9\n\n  %-13s %11s %10s %11s %9s\n", "BINARY", "AT", "PROCESSES", "BACK AFTER", "RESTARTS")
	for _, o := range killed {
		back := span(o.Absence())
		if o.Back == 0 {
			back = "NEVER"
		}
		fmt.Fprintf(w, "  %-13s %11s %10d %11s %9d\n", o.Binary, fmt.Sprintf("%.0f s", o.Struck.Seconds()), len(o.Killed), back, o.Restarts)
	}
}

// share is the count of changes of one of the two sorts of shares. A kind of job needs only one of them.
func share(n int, of timeline.Seen) string {
	if n == 0 && of.Shares+of.GPUShares > 0 {
		return "–"
	}
	return count(n)
}

func count(n int) string {
	if n == 0 {
		return "NONE"
	}
	return fmt.Sprint(n)
}

func difference(w io.Writer, round Round) {
	run, other := round.Run.Name, round.Other.Name
	fmt.Fprintf(w, "\nThe same jobs under %s\n\n  %-13s %-11s %11s %11s %15s\n", other, "JOB", "KIND", strings.ToUpper(run), strings.ToUpper(other), "CHANGE")
	c := Compare(round)
	sooner, later := 0, 0
	for _, d := range append(c.Jobs, c.Mean, c.Target, c.Makespan) {
		fmt.Fprintf(w, "  %-13s %-11s %11s %11s %15s\n", d.Job, d.Kind, span(d.Completion), span(d.Other), change(d))
	}
	for _, d := range c.Jobs {
		switch {
		case d.Relative() < 0:
			sooner++
		case d.Relative() > 0:
			later++
		}
	}
	fmt.Fprintf(w, "\n  Under %s, of %d jobs %d ended sooner and %d later than under %s.\n", run, len(c.Jobs), sooner, later, other)
}

// summary prints one line of figures per round.
func summary(w io.Writer, rounds []Round) {
	fmt.Fprintf(w, "\n%s against %s, by round\n\n  %-5s %15s  %15s  %-26s %-26s %15s\n", rounds[0].Run.Name, rounds[0].Other.Name,
		"ROUND", "MEAN JOB", "MEAN TO 95 %", "BEST JOB", "WORST JOB", "MAKESPAN")
	for i, round := range rounds {
		c := Compare(round)
		fmt.Fprintf(w, "  %-5d %15s  %15s  %-26s %-26s %15s\n", i+1, change(c.Mean), change(c.Target), named(c.Best), named(c.Worst), change(c.Makespan))
	}
	if len(rounds) == 1 {
		fmt.Fprintln(w, "\n  One run of each: a few per cent mean nothing. --repeats shows how far rounds differ.")
	}
}

func named(d timeline.Difference) string { return strings.TrimSpace(d.Job + " " + change(d)) }

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
