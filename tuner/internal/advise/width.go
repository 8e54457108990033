package advise

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/elastic"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/resources"
)

// restartCost is the assumed time to save, restart and load a job with another number of workers.
const restartCost growth.Seconds = 120

// newEnd reports whether the end of an elastic job is known, for the first time.
func (a *Adviser) newEnd(j history.Job, now time.Time) bool {
	return j.Sample.Elastic != nil && !a.ends[j.UID] && !waits(*j.Sample, now)
}

// recommendWidth adds a number of workers to the advice of a job that may run with several, or withdraws it. pods are those of all jobs
// of several. Before anything is measured, a job is expected to scale as jobs usually do.
func (a *Adviser) recommendWidth(changes []Change, j history.Job, pods resources.Pods, now time.Time) []Change {
	s := *j.Sample
	if s.Elastic == nil {
		return changes
	}
	if !waits(s, now) {
		if a.ends == nil {
			a.ends = map[growth.PodUID]bool{}
		}
		a.ends[j.UID] = true
	}
	job := elastic.Job{
		Range:     *s.Elastic,
		Workers:   pods.Workers(s),
		Measured:  a.Resources.Widths(s, pods),
		Remaining: resources.Remaining(s, now),
		Cost:      restartCost,
	}
	var last bus.Width
	if j.Advice != nil && j.Advice.Width != nil {
		last = *j.Advice.Width
		job.Changes = last.Changes
	}
	if last.From == job.Workers {
		job.Recommended = last.Workers
		if waits(s, now) && last.Workers >= s.Elastic.Low && last.Workers <= s.Elastic.High {
			return changes
		}
	}
	r, ok := elastic.Recommend(job) // the zero value withdraws an earlier one
	if r.Workers == last.Workers && r.From == last.From {
		return changes
	}
	width := &bus.Width{Recommendation: r, Changes: last.Changes}
	if ok {
		width.Changes = a.counted(j.UID, *width)
	}
	changes, at := adviceOf(changes, j)
	changes[at].Advice.Width = width
	return changes
}

// waits reports whether a job's expected end says nothing about its number of workers for the moment.
func waits(s bus.Sample, now time.Time) bool {
	_, known := s.Left(now)
	return !known || s.Paused != ""
}

// counted returns the changes of a job that is given a number of workers, and remembers the number. One that was withdrawn for a moment
// is no further change.
func (a *Adviser) counted(job growth.PodUID, w bus.Width) int {
	if last := a.widths[job]; last.Workers != w.Workers || last.From != w.From || last.Changes != w.Changes {
		w.Changes++
	}
	if a.widths == nil {
		a.widths = map[growth.PodUID]bus.Width{}
	}
	a.widths[job] = w
	return w.Changes
}

// adviceOf returns the changes with one of a job's advice, and its index. Without a change so far the advice is kept, with its
// generation: the job is sent nothing.
func adviceOf(changes []Change, j history.Job) ([]Change, int) {
	if at := slices.IndexFunc(changes, func(c Change) bool { return c.Job == j.UID && c.Advice != nil }); at >= 0 {
		return changes, at
	}
	key := bus.AdviceKey(j.UID)
	change := Change{Job: j.UID, Pod: j.Sample.Pod, Advice: &bus.Advice{Generation: j.Sample.Generation}, Guard: bus.Absent(key)}
	if j.Advice != nil {
		*change.Advice, change.Guard = *j.Advice, bus.Unchanged(key, j.AdviceRevision)
	}
	return append(changes, change), len(changes)
}
