package turn

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Event is an input of a Scheduler.
type Event interface{ apply(s *Scheduler) }

type (
	// Planned replaces the jobs of the group. Jobs that stay keep their state. With Open no job is paused.
	Planned struct {
		Jobs []Job
		Open bool
	}
	// Opened reports that a job computes: a new one, or one that has its turn from an earlier scheduler.
	Opened struct{ Job growth.PodUID }
	// Asked reports that a job that is overdue must be asked to stop once more.
	Asked struct{ Job growth.PodUID }
	// Waits reports that a job has stopped, or was idle, and waits for the turn.
	Waits struct{ Job growth.PodUID }
	// Pauses reports that a job does not need its GPUs.
	Pauses struct{ Job growth.PodUID }
	// Left reports that a job can no longer be paused, because it has ended or has lost its connection.
	Left struct{ Job growth.PodUID }
	// Woken reports that the time of Effects.Wake has come. It may come at any time.
	Woken struct{}
)

// Effects are the consequences of one step, in the order of the fields.
type Effects struct {
	// Revoke has the jobs that must stop after their step, drain their device, and answer.
	Revoke []growth.PodUID
	// Overdue has the jobs that have not answered in time. Others no longer wait for them.
	Overdue []growth.PodUID
	// Grant has the jobs that get the turn.
	Grant []growth.PodUID
	// Wake is when Woken is due; zero if it is not needed.
	Wake time.Time
}

func (e Planned) apply(s *Scheduler) { s.plan(e.Jobs, e.Open) }

func (e Opened) apply(s *Scheduler) {
	if j := s.jobs[e.Job]; j != nil && (j.state == Absent || j.state == Idle || j.state == Ready) {
		s.catchUp(j)
		j.state, j.until = Holding, s.now
		if _, blocked := s.blocked(j); !blocked {
			j.until = s.now.Add(s.quantum(j))
		} else if j.use.Held > 0 {
			j.taken = min(j.taken+1, mostTaken)
		}
	}
}

func (e Asked) apply(s *Scheduler) {
	if j := s.jobs[e.Job]; j != nil && j.state == Overdue {
		j.state, j.until = Holding, s.now
	}
}

func (e Waits) apply(s *Scheduler) {
	if j := s.jobs[e.Job]; j != nil && j.state != Ready {
		if !j.computes() {
			s.resumed(j)
			s.catchUp(j)
			j.urgent = true
		}
		s.stopped(j)
		j.state = Ready
	}
}

func (e Pauses) apply(s *Scheduler) {
	if j := s.jobs[e.Job]; j != nil && j.state != Idle {
		s.stopped(j)
		s.pausing(j)
		j.state = Idle
	}
}

func (e Left) apply(s *Scheduler) {
	if j := s.jobs[e.Job]; j != nil {
		j.state = Absent
	}
}

func (Woken) apply(*Scheduler) {}
