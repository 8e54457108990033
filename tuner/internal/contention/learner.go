package contention

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// learning is a learner with its position on the bus. Use load.
type learning struct {
	learner *interference.Learner
	// based is the revision of the record that the next write extends; 0 if there is none.
	based   bus.Revision
	through bus.Revision
	nodes   map[growth.NodeName]position
	changed bool
}

// position is what was learned from a node.
type position struct {
	revision bus.Revision
	seconds  map[string]growth.Seconds // of each set
}

// load starts from the record on the bus. err is the reason why its content is not used; learning starts without it.
func load(s *history.Snapshot) (l *learning, err error) {
	l = &learning{
		learner: interference.NewLearner(interference.Prior()),
		based:   s.InterferenceRevision,
		nodes:   map[growth.NodeName]position{},
	}
	if s.Interference == nil {
		return l, nil
	}
	learner, err := interference.Restore(interference.Prior(), s.Interference.Learned)
	if err != nil {
		return l, fmt.Errorf("%s: %w", bus.ModelKey(bus.InterferenceModel), err)
	}
	l.learner = learner
	if through := s.Interference.Through; through <= s.Revision { // the bus was not restored from a backup
		l.through = through
	}
	return l, nil
}

// record returns the record to write.
func (l *learning) record() bus.Interference {
	return bus.Interference{Learned: l.learner.State(), Through: l.through}
}

// learn observes what is new in the records of the nodes. It returns the number of valid measurements, and the error of
// each invalid one.
func (l *learning) learn(s *history.Snapshot) (learned int, invalid []error) {
	next := make(map[growth.NodeName]position, len(s.Nodes))
	for _, n := range s.Nodes {
		last := l.nodes[n.Name]
		if n.Speeds == nil || n.SpeedsRevision == last.revision {
			next[n.Name] = last
			continue
		}
		l.changed = true // at least the position
		known := last.revision == 0 && n.SpeedsRevision <= l.through
		now := position{revision: n.SpeedsRevision, seconds: map[string]growth.Seconds{}}
		for _, m := range n.Speeds.Sets[:min(len(n.Speeds.Sets), bus.MaxSpeeds)] {
			set := setOf(m)
			now.seconds[set] = m.Seconds
			m.Seconds = added(m.Seconds, last.seconds[set])
			if known || m.Seconds == 0 {
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
	slices.Sort(kinds)
	return strings.Join(kinds, " ")
}
