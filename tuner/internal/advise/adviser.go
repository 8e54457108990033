package advise

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/programs"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// withdrawAfter is the time without a sample after which a job's advice is withdrawn. It is longer than a restart of the
// coordinator plus the expiry of its lease.
const withdrawAfter = time.Minute

// Adviser decides on advice. It tracks how long each job has kept its number of workers, and how long its sample has
// been missing.
type Adviser struct {
	Policy loader.ChangePolicy
	// Reallocate says after which events workers may change; empty means always.
	Reallocate loader.Reallocate
	// Resources recommends requests; nil: none are recommended.
	Resources Resources
	// Loaders knows earlier jobs; nil: nothing is known before a job was measured.
	Loaders Loaders

	turnover     map[growth.NodeName]*loader.Turnover
	running      map[growth.PodUID]loaderState
	missingSince map[growth.PodUID]time.Time
	recommended  map[growth.PodUID]time.Time // when the resources of a job were last recommended
}

// Loaders provides the measurements of earlier jobs of a job's program, the newest last.
type Loaders interface {
	Before(job growth.PodUID, program programs.ID) []loader.Measurement
}

// loaderState is a job's number of workers and the time of its last change.
type loaderState struct {
	loaders int
	since   time.Time
}

// Change is one advice record to write, or to delete if Advice is nil.
type Change struct {
	Job    growth.PodUID
	Pod    growth.PodRef
	Advice *bus.Advice
	// Guard makes the write fail if the record has changed since the decision.
	Guard bus.Guard
}

// Decide returns the changes of advice for a snapshot. It returns none for a snapshot that may be outdated.
func (a *Adviser) Decide(s *history.Snapshot, now time.Time) []Change {
	if !s.Synced || s.Err != nil {
		return nil
	}
	a.trackLoaders(s, now)
	var nodes []nodePlan
	turnover := map[growth.NodeName]*loader.Turnover{}
	for _, node := range s.Nodes {
		if node.Load != nil {
			jobs := jobsOn(s, node.Name)
			nodes = append(nodes, a.plan(node, jobs, now))
			turnover[node.Name] = a.observe(node.Name, jobs, now)
		}
	}
	a.turnover = turnover
	separate(nodes)
	var changes []Change
	for _, connected := range connect(nodes) {
		if a.mayDivide(connected, now) {
			changes = append(changes, a.divide(connected)...)
		}
	}
	for _, node := range s.Nodes {
		changes = append(changes, adviseBatches(node, jobsOn(s, node.Name), changes)...)
	}
	changes = a.recommendResources(s, changes, now)
	return append(changes, a.withdraw(s, now)...)
}

// trackLoaders updates the number of workers of each job.
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

// withdraw returns the deletion of the advice of jobs that have been missing for longer than withdrawAfter.
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
		// This build must not overwrite advice that it cannot decode.
		if j.Sample != nil && j.Sample.Node == node && s.Undecodable[bus.AdviceKey(j.UID)] == nil {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// currentLoaders returns the number of workers that a job was advised to use, or that it reports.
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
