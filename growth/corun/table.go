package corun

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Kind identifies jobs that are equally fast.
type Kind string

const (
	// maxEntries bounds a Table. The entry that was measured least recently is dropped.
	maxEntries = 256
	// memory is the time over which measurements are averaged.
	memory growth.Seconds = 120
	// MinSeconds is the time after which a measurement counts.
	MinSeconds growth.Seconds = 2
	// firstDeviation is the assumed deviation of a first measurement, relative to its value.
	firstDeviation = 0.05
	// halfLife is the age at which a measurement weighs half. drift is the deviation that a speed gains in this time,
	// relative to its value, as in a random walk; maxDrift bounds it.
	halfLife        = time.Hour
	drift, maxDrift = 0.05, 0.25
	// doubtful is the age of a measurement of jobs that have changed since.
	doubtful = 6 * halfLife
)

// Table has measured speeds. Entries are in the order in which they were last measured. The zero value is empty.
type Table struct {
	Entries []Entry `json:"entries,omitempty"`
	// Added counts the measurements.
	Added int `json:"-"`
	// Now is the present time, by which entries age.
	Now time.Time `json:"-"`
}

// Entry is the speed of a job of kind Own while jobs of the kinds Others compute too.
type Entry struct {
	Own    Kind   `json:"own"`
	Others []Kind `json:"others"` // sorted
	Speed  Speed  `json:"speed"`
	// At is the time of the last measurement; zero if it was made by an earlier release.
	At time.Time `json:"at,omitzero"`
}

// Speed is a measured or predicted speed, relative to computing alone.
type Speed struct {
	Mean      float64        `json:"mean"`
	Deviation float64        `json:"deviation"`
	Seconds   growth.Seconds `json:"seconds,omitempty"` // of measurement; 0 if it was predicted
}

// Cautious returns the mean minus one standard deviation.
func (s Speed) Cautious() float64 { return max(s.Mean-s.Deviation, least) }

// least is the least speed that is measured.
const least = 0.01

func (t *Table) find(own Kind, others []Kind) int {
	return slices.IndexFunc(t.Entries, func(e Entry) bool { return e.Own == own && slices.Equal(e.Others, others) })
}

// Add adds a measurement of some seconds. It ignores a speed that no job can have.
func (t *Table) Add(own Kind, others []Kind, speed float64, seconds growth.Seconds) {
	if !(speed > 0) || speed > 2 || !(seconds > 0) || len(others) == 0 {
		return
	}
	speed = min(max(speed, least), 1)
	others = sorted(others)
	e := Entry{Own: own, Others: others, Speed: Speed{Mean: speed, Deviation: firstDeviation * speed}, At: t.Now}
	if i := t.find(own, others); i >= 0 {
		e = t.Entries[i]
		t.Entries = slices.Delete(t.Entries, i, i+1)
	}
	s := &e.Speed
	remembered := min(s.Seconds, memory) * growth.Seconds(math.Exp2(-t.age(e).Hours()/halfLife.Hours()))
	part := float64(seconds / (remembered + seconds))
	off := speed - s.Mean
	s.Mean += part * off
	s.Deviation = math.Sqrt((1-part)*s.Deviation*s.Deviation + part*(1-part)*off*off)
	s.Seconds += seconds
	e.At = t.Now
	t.Entries = append(t.Entries, e)
	t.Added++
	if len(t.Entries) > maxEntries {
		t.Entries = t.Entries[1:]
	}
}

// Predict returns the speed of a job next to others: as measured, else from pairs. ok is false if a pair was not measured.
func (t *Table) Predict(own Kind, others []Kind) (s Speed, ok bool) {
	if i := t.find(own, sorted(others)); i >= 0 && t.Entries[i].Speed.Seconds >= MinSeconds {
		return t.aged(t.Entries[i]), true
	}
	if len(others) < 2 {
		return Speed{Mean: 1}, len(others) == 0
	}
	slowdown, variance := 1.0, 0.0
	for _, other := range others {
		pair, known := t.Predict(own, []Kind{other})
		if !known {
			return Speed{}, false
		}
		slowdown += 1/pair.Mean - 1
		relative := pair.Deviation / (pair.Mean * pair.Mean)
		variance += relative * relative
	}
	return Speed{Mean: 1 / slowdown, Deviation: math.Sqrt(variance) / (slowdown * slowdown)}, true
}

// AtLeast returns a lower bound of the speed of a job next to others: the fastest that was measured next to all of them and more.
func (t *Table) AtLeast(own Kind, others []Kind) (speed float64, ok bool) {
	others = sorted(others)
	for _, e := range t.Entries {
		if e.Own == own && e.Speed.Seconds >= MinSeconds && includes(e.Others, others) {
			speed, ok = max(speed, t.aged(e).Cautious()), true
		}
	}
	return speed, ok
}

// includes reports whether all has each kind of some at least as often. Both are sorted.
func includes(all, some []Kind) bool {
	for _, kind := range all {
		if len(some) > 0 && some[0] == kind {
			some = some[1:]
		}
	}
	return len(some) == 0
}

// age returns the time since the last measurement of an entry. The clock may have been set back.
func (t *Table) age(e Entry) time.Duration { return max(0, t.Now.Sub(e.At)) }

// aged returns the speed of an entry, less certain with age.
func (t *Table) aged(e Entry) Speed {
	s := e.Speed
	drifted := s.Mean * min(drift*math.Sqrt(t.age(e).Hours()/halfLife.Hours()), maxDrift)
	s.Deviation = math.Hypot(s.Deviation, drifted)
	return s
}

// Old reports whether the speed of a job next to another is due to be measured again: it was measured a while ago.
func (t *Table) Old(own, other Kind) bool {
	i := t.find(own, []Kind{other})
	return i >= 0 && t.age(t.Entries[i]) >= halfLife
}

// Doubt makes all measurements with jobs of a kind old, because these jobs have changed.
func (t *Table) Doubt(kind Kind) {
	for i := range t.Entries {
		e := &t.Entries[i]
		if latest := t.Now.Add(-doubtful); e.At.After(latest) && (e.Own == kind || slices.Contains(e.Others, kind)) {
			e.At = latest
		}
	}
}

// Correct multiplies the speeds of jobs of a kind that were measured since some time, because their speed alone is another one.
func (t *Table) Correct(own Kind, factor float64, since time.Time) {
	if !(factor > 0) || math.IsInf(factor, 1) {
		return
	}
	for i := range t.Entries {
		if e := &t.Entries[i]; e.Own == own && !e.At.Before(since) {
			corrected := min(max(factor*e.Speed.Mean, least), 1)
			e.Speed.Deviation *= corrected / e.Speed.Mean
			e.Speed.Mean = corrected
			t.Added++
		}
	}
}

// Valid reports whether all entries of a decoded table are possible.
func (t *Table) Valid() bool {
	return len(t.Entries) <= maxEntries && !slices.ContainsFunc(t.Entries, func(e Entry) bool {
		s := e.Speed
		return len(e.Others) == 0 || !slices.IsSorted(e.Others) || !(s.Mean >= least && s.Mean <= 1) || !(s.Deviation >= 0 && s.Deviation <= 1) || !(s.Seconds >= 0)
	})
}

func sorted(kinds []Kind) []Kind {
	kinds = slices.Clone(kinds)
	slices.Sort(kinds)
	return kinds
}

// Sets returns the sets of which each job was measured, the newest first. A set has one entry for each of its jobs.
func (t *Table) Sets() (sets [][]Entry) {
	seen := map[string]bool{}
	for _, newest := range slices.Backward(t.Entries) {
		kinds := sorted(append([]Kind{newest.Own}, newest.Others...))
		name := fmt.Sprintf("%q", kinds)
		if seen[name] {
			continue
		}
		seen[name] = true
		if set, complete := t.members(kinds); complete {
			sets = append(sets, set)
		}
	}
	return sets
}

// members returns the entries of all jobs of a set.
func (t *Table) members(kinds []Kind) (set []Entry, complete bool) {
	for k, own := range kinds {
		i := t.find(own, slices.Delete(slices.Clone(kinds), k, k+1))
		if i < 0 || t.Entries[i].Speed.Seconds < MinSeconds {
			return nil, false
		}
		set = append(set, t.Entries[i])
	}
	return set, true
}
