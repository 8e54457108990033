package turnbench

import (
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/turns"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// division is the server of turns. A phase may change the plans of the loop on their way to it.
type division struct {
	*turns.Server

	mu      sync.Mutex
	planned node.TurnPlan // the last plan of the loop
	change  func(*node.TurnGroup)
}

// turnTimeout returns the time after which others do not wait for a holder. waitBound bounds the wait with the rest of turns.
func turnTimeout() time.Duration { return turn.Default.Timeout }
func waitBound() time.Duration   { return turn.Default.Timeout + turn.Default.Period + time.Second }

// Plan implements loop.Turns.
func (d *division) Plan(plan node.TurnPlan) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.planned = plan
	d.apply()
}

// changeBy changes the last plan and all later ones.
func (d *division) changeBy(change func(*node.TurnGroup)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.change = change
	d.apply()
}

func (d *division) apply() {
	plan := node.TurnPlan{Groups: slices.Clone(d.planned.Groups)}
	if d.change != nil {
		for i := range plan.Groups {
			g := &plan.Groups[i]
			g.Jobs = slices.Clone(g.Jobs)
			d.change(g)
		}
	}
	d.Server.Plan(plan)
}

// plans reports whether the loop has planned turns for a job.
func (d *division) plans(j *job) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.planned.Groups, func(g node.TurnGroup) bool {
		return slices.ContainsFunc(g.Jobs, func(planned node.TurnJob) bool { return planned.Pod == j.id })
	})
}

// weigh lets the jobs take turns, one by one, with shares in proportion to the weights. The policy is ignored.
func (m *machine) weigh(weights map[*job]float64) {
	d := m.coordinator.turns
	shares, sum := map[growth.PodUID]growth.Share{}, 0.0
	for j, weight := range weights {
		require.Eventually(m.b.t, func() bool { return d.plans(j) }, time.Minute, 10*time.Millisecond, "no turns for %s", j.name)
		sum += weight
	}
	for j, weight := range weights {
		shares[j.id] = growth.Share(weight / sum)
	}
	d.changeBy(func(g *node.TurnGroup) {
		g.Open = false
		for i := range g.Jobs {
			if share, ok := shares[g.Jobs[i].Pod]; ok {
				g.Jobs[i].Share, g.Jobs[i].Set = share, 0
			}
		}
	})
}

// kept returns for how long the GPU was kept for each of the jobs while they waited for data, in seconds.
func (m *machine) kept(jobs ...*job) (kept []float64) {
	uses := m.coordinator.turns.Use()
	for _, j := range jobs {
		kept = append(kept, float64(uses[j.id].Kept))
	}
	return kept
}

// open lets all jobs compute at once, as under plain sharing.
func (m *machine) open() {
	m.coordinator.turns.changeBy(func(g *node.TurnGroup) { g.Open = true })
}

// decide leaves the division to the policy.
func (m *machine) decide() { m.coordinator.turns.changeBy(nil) }
