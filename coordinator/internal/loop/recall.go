package loop

import (
	"maps"

	"github.com/trellis-gpu/trellis/coordinator/internal/recall"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// Recall takes up what an earlier coordinator has kept on this node. It is for before Run.
func (l *Loop) Recall(m recall.Memory) {
	for _, s := range m.Samples {
		l.past[s.Pod.UID] = s
	}
	l.fair = m.Fair
}

// keep has what is known now kept on this node: the bus forgets a coordinator that is away for longer than its session.
func (l *Loop) keep() {
	if len(l.jobs) == 0 {
		return // nobody yet, or nobody any more
	}
	m := recall.Memory{Fair: fairfinish.State{At: l.fair.At, Accounts: maps.Clone(l.fair.Accounts)}}
	for _, j := range l.sorted() {
		m.Samples = append(m.Samples, j.sample(l.gpus(j.pod.Ref.UID), l.fair))
	}
	l.ports.Memory.Keep(m)
}
