package node

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
	"github.com/trellis-gpu/trellis/growth/interference"
)

const (
	// trialPart bounds the time that a job loses to trials of pairs that turn out not to pay, as a part of the time in turns.
	trialPart = 0.02
	// retryTrial is the time after which a pair is tried again that has not computed enough to be measured.
	retryTrial = 10 * time.Minute
)

// corunTrial lets two jobs hold the turn together for a while, to measure their speeds.
type corunTrial struct {
	pair  [2]growth.PodUID
	kinds [2]corun.Kind
	parts [2]float64 // of the pair's time in turns
	began time.Time
}

// applyTrial makes the pair of the present trial a set.
func (n *Node) applyTrial(g *gpuGroup, number int) {
	if n.corunTrial == nil {
		return
	}
	var pair []gpuJob
	for _, j := range g.jobs {
		if slices.Contains(n.corunTrial.pair[:], j.pod.Ref.UID) && j.gpu.set == 0 {
			pair = append(pair, j)
		}
	}
	if len(pair) < 2 {
		return
	}
	for i, j := range pair {
		j.gpu.set = number
		j.gpu.speed = expectedSpeed(j, pair[1-i])
	}
}

// expectedSpeed returns the speed of a job next to another before it was measured.
func expectedSpeed(j, other gpuJob) float64 {
	return 1 / float64(interference.Prior().Slowdown(j.activity(), other.activity()).Mean)
}

// endTrial ends the present trial once it has lasted for an interval. If the pair does not pay, what a job has lost counts: all
// of the time if that was not measured.
func (n *Node) endTrial() {
	t := n.corunTrial
	if t == nil || n.now.Sub(t.began) < n.config.Interval {
		return
	}
	n.corunTrial = nil
	maps.DeleteFunc(n.triedAt, func(_ [2]corun.Kind, at time.Time) bool { return n.now.Sub(at) >= retryTrial })
	a, knownA := n.speeds.Predict(t.kinds[0], t.kinds[1:])
	b, knownB := n.speeds.Predict(t.kinds[1], t.kinds[:1])
	if knownA && knownB && a.Mean+b.Mean >= 1+corun.Margin {
		return
	}
	lost := 1.0
	if knownA && knownB {
		lost = max(0, t.parts[0]-a.Mean, t.parts[1]-b.Mean)
	} else {
		n.triedAt[t.kinds] = n.now
	}
	n.trialTime += time.Duration(lost * float64(n.now.Sub(t.began)))
}

// startTrial starts a trial of a pair that was not measured, if that may pay and little time was lost by others. It returns
// false if there is none.
func (n *Node) startTrial() bool {
	if n.corunTrial != nil || n.trialTime > time.Duration(trialPart*float64(n.turnTime)) {
		return n.corunTrial != nil
	}
	for i := range n.groups {
		g := &n.groups[i]
		if !g.turns || !n.allConnected(*g) {
			continue
		}
		if t := n.bestTrial(*g); t != nil {
			n.corunTrial = t
			n.applyTrial(g, len(g.jobs))
			return true
		}
	}
	return false
}

// bestTrial returns the trial of the two jobs of which the smaller share is largest. It has the most to gain, and of two jobs
// with equal shares none loses much.
func (n *Node) bestTrial(g gpuGroup) (best *corunTrial) {
	var smaller, sum growth.Share
	for i, a := range g.jobs {
		for _, b := range g.jobs[:i] {
			low, both := min(a.gpu.share, b.gpu.share), a.gpu.share+b.gpu.share
			if cmp.Or(cmp.Compare(low, smaller), cmp.Compare(both, sum)) <= 0 || !slices.Equal(a.gpus, b.gpus) || !n.mayPay(a, b) {
				continue
			}
			smaller, sum = low, both
			best = &corunTrial{
				pair:  [2]growth.PodUID{a.pod.Ref.UID, b.pod.Ref.UID},
				kinds: [2]corun.Kind{a.interferes(), b.interferes()},
				parts: [2]float64{float64(a.gpu.share / both), float64(b.gpu.share / both)},
				began: n.now,
			}
		}
	}
	return best
}

// mayPay reports whether a pair is worth a trial.
func (n *Node) mayPay(a, b gpuJob) bool {
	kinds := [2]corun.Kind{a.interferes(), b.interferes()}
	_, known := n.speeds.Predict(kinds[0], kinds[1:])
	_, knownToo := n.speeds.Predict(kinds[1], kinds[:1])
	_, tried := n.triedAt[kinds]
	_, triedToo := n.triedAt[[2]corun.Kind{kinds[1], kinds[0]}]
	switch {
	case known && knownToo, tried, triedToo:
		return false
	case a.gpu.set != 0 || b.gpu.set != 0 || !a.gpu.exact || !b.gpu.exact:
		return false
	}
	return expectedSpeed(a, b)+expectedSpeed(b, a) >= 1+corun.Margin
}
