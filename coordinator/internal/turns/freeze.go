package turns

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/turn"
)

const (
	// leastFrozen is the shortest quantum of a job that is frozen between its turns: its launches queue up in the driver, and
	// run on after it is frozen.
	leastFrozen = 2 * time.Second
	// mostFrozen bounds the time for which a job is frozen. After it the job computes next to the others, as one that has not
	// stopped in time.
	mostFrozen = 30 * time.Second
	// thawAttempts and thawPause are for a kernel that refuses to thaw a container.
	thawAttempts, thawPause = 10, 500 * time.Millisecond
)

// Freezer stops and continues the processes of a container.
type Freezer interface {
	Freeze(pod growth.PodUID, container string) error
	Thaw(pod growth.PodUID, container string) error
}

// frozen is the state of a job that is frozen between its turns. Its fields are guarded by Server.mu.
type frozen struct {
	container string
	next      string // replaces container once that is thawed
	want      bool   // the job should be frozen
	is        bool
	applying  bool // a goroutine changes is to want
	failed    bool // it could not be frozen: it computes from now on
	freezes   int  // counts, so that a timer knows its freeze
}

// freezes reports whether the job is frozen between its turns.
func (j *job) freezes() bool { return j.frozen.container != "" && !j.frozen.failed }

// freezeBy follows the plan: the container that is frozen, or none.
func (j *job) freezeBy(container string) {
	f := &j.frozen
	if j.server.freezer == nil || f.next == container {
		return
	}
	f.next = container
	j.setFrozen(false)
	j.replaceContainer()
}

// replaceContainer follows a change of the container, unless the old one is still frozen. A job that could not be frozen stays
// unfreezable: the plan drops its container, and would name it again.
func (j *job) replaceContainer() {
	if f := &j.frozen; !f.is && !f.applying && f.container != f.next {
		f.container = f.next
	}
}

// setFrozen freezes or thaws the job, in the background: the kernel may take some time.
func (j *job) setFrozen(want bool) {
	f := &j.frozen
	f.want = want
	if f.applying || f.is == want || f.container == "" {
		return
	}
	f.applying = true
	j.server.wg.Go(j.applyFrozen)
}

func (j *job) applyFrozen() {
	s, f := j.server, &j.frozen
	s.mu.Lock()
	defer s.mu.Unlock()
	for f.is != f.want {
		want := f.want
		s.mu.Unlock()
		var err error
		if want {
			err = s.freezer.Freeze(j.Pod, f.container)
		} else {
			err = s.thaw(j.Pod, f.container)
		}
		s.mu.Lock()
		f.is = want && err == nil
		if err != nil {
			s.log.Warn("a job could not be frozen or thawed: it is no longer frozen between its turns", "uid", j.Pod, "err", err)
			f.failed, f.want = true, false
			break
		}
		if f.is && f.want {
			f.freezes++
			freeze := f.freezes
			time.AfterFunc(mostFrozen, func() { j.endFreeze(freeze) })
			j.afterFreezing()
		}
	}
	f.applying = false
	j.replaceContainer()
	j.afterFreezing()
}

// thaw repeats a failed attempt, because the job would stay frozen.
func (s *Server) thaw(pod growth.PodUID, container string) (err error) {
	for range thawAttempts {
		if err = s.freezer.Thaw(pod, container); err == nil {
			return nil
		}
		time.Sleep(thawPause)
	}
	return err
}

// afterFreezing reports a change to the scheduler, unless the job has left the plan.
func (j *job) afterFreezing() {
	if j.server.jobs[j.Pod] == j {
		j.report(j.conns())
	}
}

// endFreeze thaws a job that has been frozen for too long.
func (j *job) endFreeze(freeze int) {
	s := j.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := &j.frozen; f.is && f.want && f.freezes == freeze {
		s.metrics.overdue.Inc()
		s.log.Warn("a job was frozen for too long: it computes next to the others", "uid", j.Pod, "after", mostFrozen.String())
		j.setFrozen(false)
		j.afterFreezing()
	}
}

// thawed returns what the scheduler learns of a job that is frozen between its turns: it always has work.
func (j *job) thawed() turn.State {
	if j.frozen.is && j.frozen.want {
		return turn.Ready
	}
	return turn.Holding
}
