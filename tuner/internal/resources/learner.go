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
	runs      []peaks.Run
	knowledge *peaks.Knowledge
	changed   bool
}

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
	l.knowledge, l.changed = peaks.Learn(l.runs), false
}

// Observe learns from the jobs of a snapshot that have ended since the last one.
func (l *Learner) Observe(s *history.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	running, learned := map[growth.PodUID]peaks.Run{}, false
	for _, j := range s.Jobs {
		if j.Sample != nil && j.Sample.Profile != nil && len(j.Sample.Profile.Valid().Blocks) >= minBlocks {
			running[j.UID] = runOf(*j.Sample)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(l.running)) {
		if _, runs := running[uid]; !runs && s.Undecodable[bus.SampleKey(uid)] == nil {
			l.runs = peaks.Remember(l.runs, l.running[uid])
			learned = true
		}
	}
	l.running = running
	if learned {
		l.changed, l.knowledge = true, peaks.Learn(l.runs)
	}
}

// Recommend recommends the requests of a job.
func (l *Learner) Recommend(s bus.Sample, now time.Time) peaks.Recommendation {
	l.mu.Lock()
	knowledge := l.knowledge
	l.mu.Unlock()
	if knowledge == nil {
		knowledge = peaks.Learn(nil)
	}
	var profile peaks.Profile
	if s.Profile != nil {
		profile = *s.Profile
	}
	return knowledge.Recommend(profile, runOf(s), Remaining(s, now))
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
		Namespace:   s.Pod.Namespace,
		Kind:        string(s.Kind),
		StepSeconds: max(0, s.StepSeconds),
		Width:       elastic.Measured{Workers: Workers(s), Rate: s.SamplesPerSecond * growth.PerSecond(Workers(s))},
	}
	if s.Model != nil {
		r.Model = s.Model.Valid()
	}
	if s.Profile != nil {
		r.Peak = s.Profile.Peak()
	}
	return r
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
	if s.ETA == nil {
		return 0
	}
	return growth.Seconds(s.ETA.Likely.Sub(now).Seconds())
}
