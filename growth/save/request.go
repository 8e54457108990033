package save

import (
	"time"

	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Request is one request to a job.
type Request struct {
	// Number identifies the request on the wire. It is unique over restarts of the coordinator.
	Number int64
	// Name is the value of the user's annotation; empty for a request of Trellis itself.
	Name     string
	Deadline time.Time
	// Step is the last step that the job had reported when the request was made.
	Step int64

	answered map[halt.Process]bool
	saved    *wire.Saved
	failure  string // of a process that could not save
}

// nothing is the reason of a job that has registered no function.
const nothing = "none of its processes has anything to save"

// Outcome is what came of a request.
type Outcome struct {
	// Saved is nil if the job has not saved. Reason says why.
	Saved  *wire.Saved
	Reason string
	// Nothing is set if no process has anything to save.
	Nothing bool
	// Able is set if a process has tried to save, and so can save at all.
	Able bool
}

// Saved adds the answer of a process that has saved. A shim of the previous release does not name the request; its answer is
// that of the whole job. A checkpoint without a number from before the request is no answer: the job has saved by itself, and
// its report is late.
func (r *Request) Saved(p halt.Process, m wire.Saved) {
	if m.Request != r.Number && (m.Request != 0 || m.Step < r.Step) {
		return
	}
	r.answer(p)
	if r.saved == nil || rank(m.Process) < rank(r.saved.Process) {
		r.saved = &m
	}
}

// Failed adds the answer of a process that has not saved.
func (r *Request) Failed(p halt.Process, m wire.Failed) {
	if m.Request != r.Number {
		return
	}
	r.answer(p)
	if !m.Nothing && r.failure == "" {
		r.failure = m.Reason
	}
}

func (r *Request) answer(p halt.Process) {
	if r.answered == nil {
		r.answered = map[halt.Process]bool{}
	}
	r.answered[p] = true
}

// Outcome returns what came of the request. done is false while answers of the job's processes are missing.
func (r *Request) Outcome(now time.Time, processes []halt.Process) (o Outcome, done bool) {
	missing := 0
	for _, p := range processes {
		if !r.answered[p] {
			missing++
		}
	}
	late := !now.Before(r.Deadline)
	o.Able = r.saved != nil || r.failure != ""
	switch {
	case r.saved != nil && r.saved.Request == 0, missing == 0 && r.saved != nil && r.failure == "":
		o.Saved = r.saved
		return o, true
	case r.failure != "" && (missing == 0 || late):
		o.Reason = r.failure
		return o, true
	case len(processes) == 0 && len(r.answered) == 0:
		o.Reason = "its processes ended before they had saved"
		return o, true
	case missing == 0:
		o.Reason, o.Nothing = nothing, true
		return o, true
	case late:
		o.Reason = "it did not answer in time: its step or its save function takes longer than it had"
		return o, true
	}
	return Outcome{}, false
}

func rank(p wire.Process) int {
	if p.Rank == nil {
		return wire.MaxRanks
	}
	return *p.Rank
}
