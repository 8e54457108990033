package turns

import (
	"context"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/turn"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// tickPeriod is the time between two turns for a process that waits. It is shorter than turn.MaxGap, too.
const tickPeriod = wire.TurnBound / 3

// Plan replaces the plan. Jobs that are no longer in it compute.
func (s *Server) Plan(plan node.TurnPlan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, jobs := s.groups, s.jobs
	s.groups, s.jobs, s.bySlot = nil, map[growth.PodUID]*job{}, map[string]*job{}
	for _, planned := range plan.Groups {
		s.groups = append(s.groups, s.group(before, planned.GPUs))
	}
	for _, g := range before {
		if !slices.Contains(s.groups, g) {
			g.stop()
		}
	}
	for i, planned := range plan.Groups {
		for _, p := range planned.Jobs {
			s.join(jobs, s.groups[i], p)
		}
	}
	for id, j := range jobs {
		if s.jobs[id] == nil {
			j.cancel(j.conns())
			s.gone(id)
		}
	}
	for i, planned := range plan.Groups {
		s.groups[i].plan(planned)
	}
}

// group returns the group of the same GPUs, which may be new.
func (s *Server) group(before []*group, gpus []growth.GPU) *group {
	for _, g := range before {
		if slices.Equal(g.gpus, gpus) {
			return g
		}
	}
	return newGroup(s, gpus)
}

// join adds a job to a group.
func (s *Server) join(before map[growth.PodUID]*job, g *group, planned node.TurnJob) {
	j := before[planned.Pod]
	if j == nil {
		j = &job{server: s, margin: leastMargin}
	}
	if j.group != nil && j.group != g { // what it does is new to the scheduler of the other group
		used := j.group.scheduler.Use(time.Now())[planned.Pod]
		j.before.Held += used.Held
		j.before.Kept += used.Kept
		j.before.Alone += used.Alone
		j.before.Waited += used.Waited
		j.state = turn.Absent
	}
	j.TurnJob, j.group = planned, g
	j.freezeBy(planned.Freeze)
	s.jobs[planned.Pod] = j
	for _, slot := range planned.Slots {
		s.bySlot[slot] = j
	}
}

// plan passes a planned group to its scheduler.
func (g *group) plan(planned node.TurnGroup) {
	jobs := make([]turn.Job, len(planned.Jobs))
	for i, p := range planned.Jobs {
		jobs[i] = turn.Job{ID: p.Pod, GPUs: p.GPUs, Share: p.Share, Always: p.Always, Set: p.Set, Speed: p.Speed}
		if p.Freeze != "" {
			jobs[i].Least = leastFrozen
		}
	}
	g.step(turn.Planned{Jobs: jobs, Open: planned.Open})
	for _, p := range planned.Jobs {
		g.server.jobs[p.Pod].left() // reports what its connections do, if that is new
	}
}

// Use returns what the jobs of the plan have used.
func (s *Server) Use() map[growth.PodUID]node.GPUUse {
	s.mu.Lock()
	defer s.mu.Unlock()
	uses := make(map[growth.PodUID]node.GPUUse, len(s.jobs))
	for _, g := range s.groups {
		for id, used := range g.scheduler.Use(time.Now()) {
			if j := s.jobs[id]; j != nil && j.group == g {
				uses[id] = j.use(used)
			}
		}
	}
	return uses
}

// Order returns the status of a job and of the jobs with which it takes turns, in the order of their turns.
func (s *Server) Order(pod growth.PodUID) []turn.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[pod]
	if j == nil {
		return nil
	}
	return j.group.scheduler.Order(time.Now(), pod)
}

// Run repeats the turns of processes that wait, and charges the time in which no job reports anything, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	ticker := time.NewTicker(tickPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.tick()
		}
	}
}

func (s *Server) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		j.repeat()
	}
	for _, g := range s.groups {
		g.step(turn.Woken{})
	}
}
