package node

import "github.com/trellis-gpu/trellis/growth"

// pace returns a job's expected work per second on each of its GPUs, relative to computing alone. In turns that is its share. Jobs that
// compute at the same time have their measured speeds, in sets for the time of their set, and equal parts while those are unknown.
func (n *Node) pace(g gpuGroup, j gpuJob) growth.Share {
	if g.turns {
		return min(g.paceInTurns(j), 1)
	}
	if speed := n.speedNextTo(j, g.sharers(j)); speed > 0 {
		return min(growth.Share(speed), 1)
	}
	return j.gpu.part
}

// paceInTurns returns the pace of a job in turns, by the formula for sets of package corun. Sets leave time for all jobs of the GPU.
func (g gpuGroup) paceInTurns(j gpuJob) growth.Share {
	needs := map[int]growth.Share{} // by set
	var shares, needed growth.Share
	for _, other := range append(g.sharers(j), j) {
		t := other.gpu
		shares += t.share
		if t.set == 0 || t.speed <= 0 {
			needed += t.share
			continue
		}
		needs[t.set] = max(needs[t.set], t.share/growth.Share(t.speed))
	}
	for _, need := range needs {
		needed += need
	}
	own := j.gpu.share
	if need, ok := needs[j.gpu.set]; ok {
		own = need * growth.Share(j.gpu.speed)
	}
	if needed == 0 {
		return own
	}
	return own * shares / needed
}
