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

// recommendWidth adds a number of workers to the advice of a job that may run with several.
func (a *Adviser) recommendWidth(changes []Change, j history.Job, now time.Time) []Change {
	s := *j.Sample
	if s.Elastic == nil || len(j.Measurements) < minMeasurements && s.SamplesPerSecond <= 0 {
		return changes
	}
	job := elastic.Job{
		Range:     *s.Elastic,
		Workers:   resources.Workers(s),
		Measured:  a.Resources.Widths(s),
		Remaining: resources.Remaining(s, now),
		Cost:      restartCost,
	}
	var last bus.Width
	if j.Advice != nil && j.Advice.Width != nil {
		last = *j.Advice.Width
		job.Changes = last.Changes
	}
	r, ok := elastic.Recommend(job)
	if !ok || r.Workers == last.Workers {
		return changes
	}
	changes, at := adviceOf(changes, j)
	changes[at].Advice.Width = &bus.Width{Recommendation: r, Changes: last.Changes + 1}
	return changes
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
