package turns

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// handover follows which jobs hold one GPU, for the metrics.
type handover struct {
	holders map[growth.PodUID]bool
	last    growth.PodUID // the last job that had the turn
	free    time.Time     // time since which no job holds; zero while one does, and before the first
}

// handover returns the state of a GPU.
func (s *Server) handover(gpu growth.GPU) *handover {
	h := s.handovers[gpu]
	if h == nil {
		h = &handover{holders: map[growth.PodUID]bool{}}
		s.handovers[gpu] = h
	}
	return h
}

// note records what an event changes: a job that has released its GPUs, computes on them, or waits for them.
func (g *group) note(e turn.Event) {
	switch e := e.(type) {
	case turn.Opened:
		g.took(e.Job)
	case turn.Waits:
		g.gave(e.Job)
	case turn.Pauses:
		g.gave(e.Job)
	case turn.Left:
		g.gave(e.Job)
	}
}

// took records that a job computes.
func (g *group) took(id growth.PodUID) {
	if j := g.server.jobs[id]; j != nil {
		for _, gpu := range j.GPUs {
			g.server.handover(gpu).take(id)
		}
	}
}

// gave records that a job does not compute, or no longer.
func (g *group) gave(id growth.PodUID) {
	if j := g.server.jobs[id]; j != nil {
		j.since = time.Now()
	}
	g.server.gone(id)
}

// gone records that a job computes on no GPU.
func (s *Server) gone(id growth.PodUID) {
	for _, h := range s.handovers {
		h.give(id, time.Now())
	}
}

// granted counts a turn that is given to a job. The gap of a GPU begins when the next job waits for it.
func (g *group) granted(j *job) {
	now := time.Now()
	m := g.server.metrics
	for _, gpu := range j.GPUs {
		h := g.server.handover(gpu)
		m.turns.WithLabelValues(string(gpu)).Inc()
		if h.last != j.Pod && !h.free.IsZero() {
			m.switches.WithLabelValues(string(gpu)).Inc()
			m.gap.Observe(now.Sub(latest(h.free, j.since)).Seconds())
		}
		h.take(j.Pod)
	}
}

func (h *handover) take(id growth.PodUID) {
	h.holders[id], h.last, h.free = true, id, time.Time{}
}

func (h *handover) give(id growth.PodUID, now time.Time) {
	if !h.holders[id] {
		return
	}
	delete(h.holders, id)
	if len(h.holders) == 0 {
		h.free = now
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
