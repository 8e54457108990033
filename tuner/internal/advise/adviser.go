package advise

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/programs"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// Adviser decides on advice. It tracks how long each job has kept its number of workers, how long it has been offered its batch size,
// and how long its sample has been missing.
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
	offers       map[growth.PodUID]offer
	missingSince map[growth.PodUID]time.Time
	recommended  map[growth.PodUID]time.Time // when the resources of a job were last recommended
	widths       map[growth.PodUID]bus.Width // the last number of workers that a job was given
	ends         map[growth.PodUID]bool      // the elastic jobs whose end was known once
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

// Begin starts a term of leadership. It forgets what the Adviser has seen in an earlier one: another leader may have decided since.
func (a *Adviser) Begin() {
	a.turnover, a.running, a.offers, a.missingSince, a.recommended, a.widths, a.ends = nil, nil, nil, nil, nil, nil, nil
}

// Decide returns the changes of advice for a snapshot. It returns none for a snapshot that may be outdated.
func (a *Adviser) Decide(s *history.Snapshot, now time.Time) []Change {
	if !s.Synced || s.Err != nil {
		return nil
	}
	a.trackLoaders(s, now)
	a.trackOffers(s, now)
	var nodes []nodePlan
	turnover, jobs := map[growth.NodeName]*loader.Turnover{}, byNode(s)
	for _, node := range s.Nodes {
		if node.Load != nil {
			nodes = append(nodes, a.plan(node, jobs[node.Name], now))
			turnover[node.Name] = a.observe(node.Name, jobs[node.Name], now)
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
		changes = append(changes, a.adviseBatches(node, jobs[node.Name], changes, now)...)
	}
	changes = a.recommendResources(s, changes, now)
	return append(changes, a.withdraw(s, now)...)
}

// trackLoaders updates the number of workers of each job.
func (a *Adviser) trackLoaders(s *history.Snapshot, now time.Time) {
	next := make(map[growth.PodUID]loaderState, len(s.Jobs))
	for _, j := range s.Jobs {
		loaders, ok := a.currentLoaders(j)
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

// withdraw returns the deletion of the advice of jobs that have had no sample for longer than history.LostAfter.
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
		if now.Sub(since) > history.LostAfter {
			changes = append(changes, Change{Job: j.UID, Guard: bus.Unchanged(bus.AdviceKey(j.UID), j.AdviceRevision)})
		}
	}
	a.missingSince = next
	return changes
}

// byNode returns the jobs on each node, in the order of the snapshot. It leaves out those whose advice this build cannot decode: it must
// not overwrite that.
func byNode(s *history.Snapshot) map[growth.NodeName][]history.Job {
	jobs := map[growth.NodeName][]history.Job{}
	for _, j := range s.Jobs {
		if j.Sample != nil && s.Undecodable[bus.AdviceKey(j.UID)] == nil {
			jobs[j.Sample.Node] = append(jobs[j.Sample.Node], j)
		}
	}
	return jobs
}

// currentLoaders returns the number of workers that a job was advised to use, or that it reports. A job that has never reported any has
// none: advice waits for its first call of gpushare.loaders, which may never come.
func (a *Adviser) currentLoaders(j history.Job) (loaders int, ok bool) {
	switch {
	case !a.hasReported(j):
		return 0, false
	case advisesLoaders(j):
		loaders = *j.Advice.Loaders
	case j.Sample != nil && j.Sample.Loaders != nil:
		loaders = *j.Sample.Loaders
	default:
		return 0, false
	}
	return min(max(0, loaders), loader.MaxLoaders), true
}

// hasReported reports whether a job has ever reported a number of workers. It may be silent for a moment, after a restart of its
// coordinator. Only a job that reports is measured, or advised to use more than none.
func (a *Adviser) hasReported(j history.Job) bool {
	_, before := a.running[j.UID]
	return before || j.Sample != nil && j.Sample.Loaders != nil || len(j.Measurements) > 0 || advisesLoaders(j) && *j.Advice.Loaders > 0
}

// advisesLoaders reports whether a job has advice on its number of workers.
func advisesLoaders(j history.Job) bool { return j.Advice != nil && j.Advice.Loaders != nil }
