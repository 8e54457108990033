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
	mu        sync.Mutex
	running   map[growth.PodUID]peaks.Run
	steps     map[growth.PodUID]steps
	runs      []peaks.Run
	knowledge *peaks.Knowledge
	known     time.Time // when knowledge was learned from runs
	outdated  bool      // runs has changed since
	changed   bool
}

// relearnInterval is the least time between two times that the runs are learned. With many runs that takes some tenths of a second.
const relearnInterval = time.Minute

// Load replaces what was learned by a record of the bus; nil for none.
func (l *Learner) Load(record *bus.Peaks) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = nil
	if record != nil {
		for _, r := range record.Runs[max(0, len(record.Runs)-peaks.MaxRuns):] {
			l.runs = peaks.Remember(l.runs, r)
		}
	}
	l.knowledge, l.outdated, l.changed = peaks.Learn(l.runs), false, false
}

// Observe learns from the jobs of a snapshot that have ended since the last one.
func (l *Learner) Observe(s *history.Snapshot, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	running := map[growth.PodUID]peaks.Run{}
	observed := make(map[growth.PodUID]steps, len(s.Jobs))
	for _, j := range s.Jobs {
		if j.Sample == nil {
			continue
		}
		observed[j.UID] = l.steps[j.UID].add(*j.Sample)
		if j.Sample.Profile != nil && len(j.Sample.Profile.Valid().Blocks) >= minBlocks {
			running[j.UID] = observed[j.UID].typical(runOf(*j.Sample))
		}
	}
	l.steps = observed
	for _, uid := range slices.Sorted(maps.Keys(l.running)) {
		if _, runs := running[uid]; !runs && s.Undecodable[bus.SampleKey(uid)] == nil {
			l.runs = peaks.Remember(l.runs, l.running[uid])
			l.changed, l.outdated = true, true
		}
	}
	l.running = running
	if l.outdated && now.Sub(l.known) >= relearnInterval {
		l.knowledge, l.known, l.outdated = peaks.Learn(l.runs), now, false
	}
}

// Recommend recommends the requests of a job.
func (l *Learner) Recommend(s bus.Sample, now time.Time) peaks.Recommendation {
	l.mu.Lock()
	knowledge, observed := l.knowledge, l.steps[s.Pod.UID]
	l.mu.Unlock()
	if knowledge == nil {
		knowledge = peaks.Learn(nil)
	}
	var profile peaks.Profile
	if s.Profile != nil && (s.Step > 0 || len(s.Profile.Valid().Blocks) >= minBlocks) { // a job that starts uses little
		profile = *s.Profile
	}
	return knowledge.Recommend(profile, observed.last(runOf(s)), Remaining(s, now), observed.seen...)
}

// Record returns the record for the bus, and whether it has changed since Saved.
func (l *Learner) Record() (bus.Peaks, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bus.Peaks{Runs: slices.Clone(l.runs)}, l.changed
}

// Saved reports that the last Record is on the bus.
func (l *Learner) Saved() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = false
}

func runOf(s bus.Sample) peaks.Run {
	r := peaks.Run{
		Namespace: s.Pod.Namespace,
		Kind:      string(s.Kind),
		Model:     modelOf(s),
		Width:     elastic.Measured{Workers: Workers(s), Rate: s.SamplesPerSecond * growth.PerSecond(Workers(s))},
	}
	if s.Profile != nil {
		r.Peak = s.Profile.Peak()
	}
	return withStep(r, stepOf(s))
}

// Workers returns the number of pods of a job.
func Workers(s bus.Sample) int {
	return min(max(1, s.WorldSize/max(1, s.Ranks)), elastic.MaxWorkers)
}

// Widths returns the throughputs of a job and of earlier runs of its program.
func (l *Learner) Widths(s bus.Sample) []elastic.Measured {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := runOf(s)
	measured := []elastic.Measured{own.Width}
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
