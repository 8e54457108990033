package resources

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/peaks"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// minBlocks is the number of blocks of a profile below which a job was too short to learn from.
const minBlocks = 3

// Learner remembers the peaks of jobs that have ended. It is safe for concurrent use.
type Learner struct {
	mu   sync.Mutex
	jobs map[growth.PodUID]observed
	runs []peaks.Run
	// unsaved are those of runs that may not be on the bus yet.
	unsaved   []peaks.Run
	knowledge *peaks.Knowledge
	known     time.Time // when knowledge was learned from runs
	outdated  bool      // runs has changed since
	loaded    bool      // in this term of leadership
}

// observed is a job that has not ended yet.
type observed struct {
	steps   steps
	run     peaks.Run // so far; the zero value while the job is too short to learn from
	missing time.Time // since when it has no sample; zero while it has one
}

// add returns the job with its newest sample.
func (o observed) add(s bus.Sample, pods Pods) observed {
	o.steps, o.missing = o.steps.add(s), time.Time{}
	if s.Profile != nil && len(s.Profile.Valid().Blocks) >= minBlocks {
		run := runOf(s)
		run.Width = pods.width(s)
		o.run = o.steps.typical(run)
	}
	return o
}

// relearnInterval is the least time between two times that the runs are learned. With many runs that takes some tenths of a second.
const relearnInterval = time.Minute

// Begin forgets the jobs of an earlier term of leadership. Another leader may have remembered them since, with their later peaks.
func (l *Learner) Begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs, l.unsaved, l.loaded = nil, nil, false
}

// Loaded reports whether what was learned before this term of leadership is known. Until then recommendations follow from a job's own
// use alone.
func (l *Learner) Loaded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loaded
}

// Load replaces what was learned by a record of the bus; nil for none. Runs that are not saved yet are added to it.
func (l *Learner) Load(record *bus.Peaks) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = nil
	if record != nil {
		for _, r := range record.Runs[max(0, len(record.Runs)-peaks.MaxRuns):] {
			l.runs = peaks.Remember(l.runs, r)
		}
	}
	for _, r := range l.unsaved {
		l.runs = peaks.Remember(l.runs, r)
	}
	l.knowledge, l.outdated, l.loaded = peaks.Learn(l.runs), false, true
}

// Observe learns from the jobs of a snapshot that have ended since the last one.
func (l *Learner) Observe(s *history.Snapshot, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := make(map[growth.PodUID]observed, len(s.Jobs))
	pods := PodsOf(s)
	for _, j := range s.Jobs {
		if j.Sample != nil {
			next[j.UID] = l.jobs[j.UID].add(*j.Sample, pods)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(l.jobs)) {
		job := l.jobs[uid]
		if _, runs := next[uid]; runs || s.Undecodable[bus.SampleKey(uid)] != nil {
			continue
		}
		if job.missing.IsZero() {
			job.missing = now
		}
		if now.Sub(job.missing) < history.LostAfter {
			next[uid] = job
		} else if job.run != (peaks.Run{}) {
			l.runs, l.unsaved = peaks.Remember(l.runs, job.run), peaks.Remember(l.unsaved, job.run)
			l.outdated = true
		}
	}
	l.jobs = next
	if l.outdated && now.Sub(l.known) >= relearnInterval {
		l.knowledge, l.known, l.outdated = peaks.Learn(l.runs), now, false
	}
}

// Recommend recommends the requests of a job.
func (l *Learner) Recommend(s bus.Sample, now time.Time) peaks.Recommendation {
	l.mu.Lock()
	knowledge, measured := l.knowledge, l.jobs[s.Pod.UID].steps
	l.mu.Unlock()
	if knowledge == nil {
		knowledge = peaks.Learn(nil)
	}
	var profile peaks.Profile
	if s.Profile != nil && (s.Step > 0 || len(s.Profile.Valid().Blocks) >= minBlocks) { // a job that starts uses little
		profile = *s.Profile
	}
	return knowledge.Recommend(profile, measured.last(runOf(s)), Remaining(s, now), measured.seen...)
}

// Record returns the record for the bus, and whether it has changed since Saved.
func (l *Learner) Record() (bus.Peaks, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bus.Peaks{Runs: slices.Clone(l.runs)}, len(l.unsaved) > 0
}

// Saved reports that the last Record is on the bus.
func (l *Learner) Saved() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsaved = nil
}

func runOf(s bus.Sample) peaks.Run {
	r := peaks.Run{
		Pod:       s.Pod.UID,
		Namespace: s.Pod.Namespace,
		Kind:      string(s.Kind),
		Model:     modelOf(s),
	}
	if s.Profile != nil {
		r.Peak = s.Profile.Peak()
	}
	return withStep(r, stepOf(s))
}

// Widths returns the throughputs of a job and of earlier runs of its program.
func (l *Learner) Widths(s bus.Sample, pods Pods) []elastic.Measured {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := runOf(s)
	measured := []elastic.Measured{pods.width(s)}
	for _, r := range l.runs {
		if r.Namespace == own.Namespace && r.Kind == own.Kind && own.Kind != "" {
			measured = append(measured, r.Width)
		}
	}
	return measured
}

// Remaining returns the time to the expected end of a job; 0 if it is unknown.
func Remaining(s bus.Sample, now time.Time) growth.Seconds {
	left, _ := s.Left(now)
	return left
}
