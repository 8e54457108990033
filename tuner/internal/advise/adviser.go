package advise

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// withdrawAfter is how long a job's sample must be gone before its advice is withdrawn: longer than a coordinator takes to
// restart and its lease to run out.
const withdrawAfter = time.Minute

// Adviser decides. It remembers between rounds since when things are as they are.
type Adviser struct {
	Policy loader.ChangePolicy

	running      map[growth.PodUID]loaderState
	missingSince map[growth.PodUID]time.Time
}

// loaderState is what a job has been running with, since when.
type loaderState struct {
	loaders int
	since   time.Time
}

// Change is one record to write, or to withdraw where Advice is nil.
type Change struct {
	Job    growth.PodUID
	Pod    growth.PodRef
	Advice *bus.Advice
	// Guard holds while the record is still the one that was decided upon.
	Guard bus.Guard
}

// Decide returns what should change on the bus, given an instant of it. An instant that may be old decides nothing.
func (a *Adviser) Decide(s *history.Snapshot, now time.Time) []Change {
	if !s.Synced || s.Err != nil {
		return nil
	}
	a.trackLoaders(s, now)
	var changes []Change
	for _, node := range s.Nodes {
		if node.Load != nil {
			changes = append(changes, a.allocate(node, jobsOn(s, node.Name), now)...)
		}
	}
	return append(changes, a.withdraw(s, now)...)
}

// trackLoaders notes what each job runs with and since when.
func (a *Adviser) trackLoaders(s *history.Snapshot, now time.Time) {
	next := make(map[growth.PodUID]loaderState, len(s.Jobs))
	for _, j := range s.Jobs {
		loaders, ok := currentLoaders(j)
		if !ok {
			continue
		}
		state, known := a.running[j.UID]
		if !known || state.loaders != loaders {
			state = loaderState{loaders: loaders, since: now}
		}
		next[j.UID] = state
	}
	a.running = next
}

// withdraw removes the advice of jobs that have been gone for long enough.
func (a *Adviser) withdraw(s *history.Snapshot, now time.Time) []Change {
	next := map[growth.PodUID]time.Time{}
	var changes []Change
	for _, j := range s.Jobs {
		if j.Sample != nil || j.Advice == nil || s.Undecodable[bus.SampleKey(j.UID)] != nil {
			continue
		}
		since, known := a.missingSince[j.UID]
		if !known {
			since = now
		}
		next[j.UID] = since
		if now.Sub(since) > withdrawAfter {
			changes = append(changes, Change{Job: j.UID, Guard: bus.Unchanged(bus.AdviceKey(j.UID), j.AdviceRevision)})
		}
	}
	a.missingSince = next
	return changes
}

func jobsOn(s *history.Snapshot, node growth.NodeName) []history.Job {
	var jobs []history.Job
	for _, j := range s.Jobs {
		// Advice that this build can not read is not rewritten by it, so its job is none of ours.
		if j.Sample != nil && j.Sample.Node == node && s.Undecodable[bus.AdviceKey(j.UID)] == nil {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// currentLoaders is what a job runs with, or has been told to.
func currentLoaders(j history.Job) (loaders int, ok bool) {
	switch {
	case j.Advice != nil && j.Advice.Loaders != nil:
		loaders = *j.Advice.Loaders
	case j.Sample != nil && j.Sample.Loaders != nil:
		loaders = *j.Sample.Loaders
	default:
		return 0, false
	}
	return min(max(0, loaders), loader.MaxLoaders), true
}
