package node

import "github.com/trellis-gpu/trellis/growth"

// phaseChange is the factor by which the cost of a step changes if the job does something else than before.
const phaseChange = 1.3

// phase is what the measured speeds of a job depend on. Zero means unknown.
type phase struct {
	batchSize, loaders int
	stepCost           growth.Work // without others on the GPU
}

// watchPhase makes the measured speeds of a job old when its batch size, its number of workers or the cost of its steps has
// changed. With another batch size its steps have another cost: until that is known, the job holds the turn alone.
func (n *Node) watchPhase(j gpuJob) {
	t, before := &j.gpu, j.gpu.phase
	now := before
	if running := j.leader().running; running.BatchSize != nil {
		now.batchSize = *running.BatchSize
	}
	if running := j.leader().running; running.Loaders != nil {
		now.loaders = *running.Loaders
	}
	if t.exact {
		now.stepCost, _ = t.cost.perStep()
	}
	if differs(before.batchSize, now.batchSize, 1) {
		t.exact, t.stale = false, true
		t.cost.forget()
		t.cost.skip(j.leader().counter.steps, t.reported) // steps of both sizes
		t.charged = charged{}
		now.stepCost = 0
	}
	switch {
	case before.differs(now):
		n.speeds.Doubt(j.interferes())
	case before.stepCost > 0:
		now.stepCost = before.stepCost // what it is compared with, so that slow changes count too
	}
	t.phase = now
}

func (p phase) differs(q phase) bool {
	return differs(p.batchSize, q.batchSize, 1) || differs(p.loaders, q.loaders, 1) || differs(p.stepCost, q.stepCost, phaseChange)
}

// differs reports whether two known values differ by more than a factor.
func differs[N int | growth.Work](a, b N, factor float64) bool {
	x, y := float64(a), float64(b)
	return min(x, y) > 0 && max(x, y) > factor*min(x, y)
}
