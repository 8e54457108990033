package loop

import (
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/coordinator/internal/recall"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/resize"
)

// Recall takes up what an earlier coordinator has kept on this node. It is for before Run.
func (l *Loop) Recall(m recall.Memory) {
	for _, s := range m.Samples {
		l.past[s.Pod.UID] = s
	}
	l.fair, l.retired = m.Fair, m.Ended
	l.denied = maps.Clone(m.Refusals)
}

// keep has what is known now kept on this node: the bus forgets a coordinator that is away for longer than its session.
func (l *Loop) keep() {
	if len(l.jobs) == 0 {
		return // nobody yet, or nobody any more
	}
	l.remember()
}

func (l *Loop) remember() {
	m := recall.Memory{
		Fair: fairfinish.State{At: l.fair.At, Accounts: maps.Clone(l.fair.Accounts)}, Refusals: map[growth.PodUID]resize.Refusal{},
		Ended: slices.Clone(l.retired),
	}
	for _, j := range l.sorted() {
		if j.refusal.Times > 0 {
			m.Refusals[j.pod.Ref.UID] = j.refusal
		}
		m.Samples = append(m.Samples, j.sample(l.gpus(j.pod.Ref.UID), l.fair))
	}
	l.ports.Memory.Keep(m)
}
