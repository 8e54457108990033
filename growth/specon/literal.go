package specon

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Monitor is Algorithm 3 for one job: it puts the job into a category by the raw change of its evaluation function E. Two
// repairs make it work: a job leaves Watching for Converged, where the paper's lines 10 to 12 put it back into Watching, and
// it falls by one category at a time. The zero value is a new job.
type Monitor struct {
	Category growth.Category
	// Migrated is set when SpeCon has decided about the job, also if the job stays. A migrated job is not observed.
	Migrated bool
	// At is when Migrated was set.
	At time.Time

	value, growth   float64
	known, compared bool
}

// Observe takes the value of E at the end of an interval. It returns whether the job was Converged and still grows by less
// than alpha, which is when it asks to be moved.
func (m *Monitor) Observe(e, alpha float64) (asks bool) {
	if m.Category == "" {
		m.Category = growth.Progressing
	}
	if m.Migrated {
		return false
	}
	before, g := m.growth, math.Abs(e-m.value)
	known, compared := m.known, m.compared
	m.value, m.known = e, true
	if !known {
		return false
	}
	m.growth, m.compared = g, true
	if !compared {
		return false
	}
	switch {
	case g < before && g < alpha:
		switch m.Category {
		case growth.Progressing:
			m.Category = growth.Watching
		case growth.Watching:
			m.Category = growth.Converged
		default:
			return true
		}
	case g > alpha:
		m.Category = growth.Progressing
	}
	return false
}

// Literal is Algorithm 4 for a job that asks to be moved. It decides if more than one other job of the host has not
// converged. The job counts at its host and not at the target, and the move is to the host itself if that has the lowest
// score. The paper's loop over the nodes is run once.
func Literal(nodes []Node, host growth.NodeName, job growth.PodUID) (m Move, decides bool) {
	own := at(nodes, host)
	notConverged := 0
	for _, j := range own.Jobs {
		if j.Category != growth.Converged {
			notConverged++
		}
	}
	if notConverged <= 1 {
		return Move{}, false
	}
	best := slices.MinFunc(nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.Score(), b.Score()), cmp.Compare(a.Use, b.Use), cmp.Compare(a.Name, b.Name))
	})
	if own.Score() == best.Score() {
		best = *own
	}
	return Move{Job: job, From: host, To: best.Name, Reason: Speculative}, true
}

// LiteralRebalance is Algorithm 5, for nodes all of whose jobs are decided about; migrated has the time of each decision.
// The balance factor is rounded up. A job that the paper sends to several nodes goes to the first.
func LiteralRebalance(nodes []Node, migrated map[growth.PodUID]time.Time) (moves []Move) {
	jobs := 0
	for _, n := range nodes {
		jobs += len(n.Jobs)
	}
	balance := int(math.Ceil(float64(jobs) / float64(len(nodes))))
	moved := map[growth.PodUID]bool{}
	send := func(job growth.PodUID, from, to growth.NodeName) {
		if !moved[job] {
			moved[job] = true
			moves = append(moves, Move{Job: job, From: from, To: to, Reason: Rebalancing})
		}
	}
	idle := slices.ContainsFunc(nodes, func(n Node) bool { return len(n.Jobs) == 0 })
	for _, to := range nodes {
		switch {
		case idle && len(to.Jobs) == 0 && balance > 0:
			if job, from, ok := latestDecided(nodes, migrated, moved); ok {
				send(job, from, to.Name)
			}
		case !idle && len(to.Jobs) < balance-1:
			for _, from := range nodes {
				if len(from.Jobs) >= balance-1 {
					if job, _, ok := latestDecided([]Node{from}, migrated, nil); ok {
						send(job, from.Name, to.Name)
					}
				}
			}
		}
	}
	return moves
}

// latestDecided returns the job that was decided about last.
func latestDecided(nodes []Node, migrated map[growth.PodUID]time.Time, except map[growth.PodUID]bool) (job growth.PodUID, on growth.NodeName, ok bool) {
	for _, n := range nodes {
		for _, j := range n.Jobs {
			if !except[j.ID] && (!ok || cmp.Or(migrated[j.ID].Compare(migrated[job]), cmp.Compare(job, j.ID)) > 0) {
				job, on, ok = j.ID, n.Name, true
			}
		}
	}
	return job, on, ok
}
