package turns

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// group is a group of GPUs of the plan, with the scheduler of its turns. Its fields are guarded by Server.mu.
type group struct {
	server    *Server
	gpus      []growth.GPU
	scheduler *turn.Scheduler
	timer     *time.Timer
	queue     []turn.Event // events that the effects of the present step have caused
	stepping  bool
}

func newGroup(s *Server, gpus []growth.GPU) *group {
	g := &group{server: s, gpus: gpus, scheduler: turn.New(s.config)}
	g.timer = time.AfterFunc(time.Hour, g.woken)
	g.timer.Stop()
	return g
}

func (g *group) stop() { g.timer.Stop() }

// woken is called by the timer. A plan may have removed the group while woken waited for the lock: its scheduler must not give a turn that
// another group gives now.
func (g *group) woken() {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	if slices.Contains(g.server.groups, g) {
		g.step(turn.Woken{})
	}
}

// later adds events that follow from the effects of the present step.
func (g *group) later(events ...turn.Event) { g.queue = append(g.queue, events...) }

// step applies an event, and the events that its effects cause.
func (g *group) step(e turn.Event) {
	g.later(e)
	if g.stepping {
		return
	}
	g.stepping = true
	defer func() { g.stepping = false }()
	for len(g.queue) > 0 {
		next := g.queue[0]
		g.queue = g.queue[1:]
		g.note(next)
		g.execute(g.scheduler.Step(time.Now(), next))
	}
}

func (g *group) execute(effects turn.Effects) {
	s := g.server
	for _, id := range effects.Revoke {
		if j := s.jobs[id]; j != nil {
			j.stop()
		}
	}
	for _, id := range effects.Overdue {
		if j := s.jobs[id]; j != nil {
			j.giveUp()
		}
	}
	for _, id := range effects.Grant {
		if j := s.jobs[id]; j != nil {
			j.start()
			g.granted(j)
		}
	}
	if effects.Wake.IsZero() {
		g.timer.Stop()
	} else {
		g.timer.Reset(time.Until(effects.Wake))
	}
}
