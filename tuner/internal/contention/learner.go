package contention

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// learner learns from what is new in the records of the nodes. Use Load first.
type learner struct {
	metrics Metrics
	log     *slog.Logger

	learner *interference.Learner
	through bus.Revision
	// earlier are the sets that the loaded record knows, so that nodes may have measured them for an earlier leader.
	earlier map[string]bool
	nodes   map[growth.NodeName]position
	changed bool
}

// position is what was learned from a node.
type position struct {
	revision bus.Revision
	seconds  map[string]growth.Seconds // of each set
}

// Load starts from the record on the bus, or without it if its content is impossible.
func (l *learner) Load(record *bus.Interference) {
	l.learner, l.through, l.nodes, l.changed = interference.NewLearner(interference.Prior()), 0, map[growth.NodeName]position{}, false
	l.earlier = map[string]bool{}
	if record == nil {
		return
	}
	restored, err := interference.Restore(interference.Prior(), record.Learned)
	if err != nil {
		l.log.Warn("the model of interference is invalid: learning starts again", "key", bus.ModelKey(bus.InterferenceModel), "err", err)
		return
	}
	l.learner, l.through, l.earlier = restored, record.Through, setsOf(record.Learned)
}

// Record returns the record to write.
func (l *learner) Record() (bus.Interference, bool) {
	return bus.Interference{Learned: l.learner.State(), Through: l.through}, l.changed
}

// Saved forgets that the record has changed.
func (l *learner) Saved() { l.changed = false }

// Observe learns what is new, and counts it.
func (l *learner) Observe(s *history.Snapshot, _ time.Time) {
	learned, invalid := l.learn(s)
	l.metrics.CountMeasurements(Learned, learned)
	l.metrics.CountMeasurements(Invalid, len(invalid))
	if len(invalid) > 0 {
		l.log.Warn("invalid measurements of speeds are ignored", "count", len(invalid), "err", invalid[0])
	}
}

// learn returns the number of valid measurements, and the error of each invalid one.
func (l *learner) learn(s *history.Snapshot) (learned int, invalid []error) {
	if l.through > s.Revision { // the bus was restored from a backup
		l.through = 0
	}
	next := make(map[growth.NodeName]position, len(s.Nodes))
	for _, n := range s.Nodes {
		last := l.nodes[n.Name]
		if n.Speeds == nil || n.SpeedsRevision == last.revision {
			next[n.Name] = last
			continue
		}
		l.changed = true // at least the position
		first := last.revision == 0
		now := position{revision: n.SpeedsRevision, seconds: map[string]growth.Seconds{}}
		for _, m := range n.Speeds.Sets[:min(len(n.Speeds.Sets), bus.MaxSpeeds)] {
			set := setOf(m)
			now.seconds[set] = m.Seconds
			m.Seconds = added(m.Seconds, last.seconds[set])
			// The times that an earlier leader has learned are not on the bus: a node's first record is the base line.
			if first && (n.SpeedsRevision <= l.through || l.earlier[set]) || m.Seconds == 0 {
				continue
			}
			if err := l.learner.Observe(m); err != nil {
				invalid = append(invalid, fmt.Errorf("node %s: %w", n.Name, err))
				continue
			}
			learned++
		}
		next[n.Name] = now
	}
	l.nodes = next
	l.through = max(l.through, s.Revision)
	return learned, invalid
}

// added returns the time that was measured since the last record. A node that measures again from the start has less.
func added(now, last growth.Seconds) growth.Seconds {
	if now < last {
		return now
	}
	return now - last
}

// setOf identifies a set by the kinds in it.
func setOf(m interference.Measurement) string {
	kinds := make([]string, len(m.Set))
	for i, member := range m.Set {
		kinds[i] = string(member.Kind)
	}
	return named(kinds)
}

// setsOf returns the sets of a state that was restored, as setOf identifies them.
func setsOf(s interference.State) map[string]bool {
	sets := map[string]bool{}
	for _, p := range s.Pairs {
		var kinds []string
		for _, k := range append([]int{p.Own}, p.Others...) {
			kinds = append(kinds, string(s.Kinds[k].Kind))
		}
		sets[named(kinds)] = true
	}
	return sets
}

// named returns the name of the set of some kinds, which it sorts.
func named(kinds []string) string {
	slices.Sort(kinds)
	return strings.Join(kinds, " ")
}
