package node

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
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
	prospect
}

// applyTrial makes the pair of the present trial a set.
func (n *Node) applyTrial(g *gpuGroup, number int) {
	if n.corunTrial == nil {
		return
	}
	var pair []gpuJob
	for _, j := range g.jobs {
		if n.onTrial(j.job) && j.gpu.set == 0 {
			pair = append(pair, j)
		}
	}
	if len(pair) < 2 {
		return
	}
	if !measurable(pair[0], pair[1]) {
		n.corunTrial = nil // the shares have changed; it does not count
		return
	}
	for i, j := range pair {
		j.gpu.set = number
		j.gpu.speed = 1 / float64(n.prospect(j, pair[1-i]).slowdowns[0].Mean)
	}
}

// onTrial reports whether a job is one of the pair of the present trial.
func (n *Node) onTrial(j *job) bool {
	return n.corunTrial != nil && slices.Contains(n.corunTrial.pair[:], j.pod.Ref.UID)
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
	result, lost := "slower", 0.0
	switch {
	case !knownA || !knownB:
		result, lost = "unmeasured", 1
		n.triedAt[t.kinds] = n.now
	case a.Mean+b.Mean >= 1+corun.Margin:
		result = "faster"
	default:
		lost = max(0, t.parts[0]-a.Mean, t.parts[1]-b.Mean)
	}
	loss := time.Duration(lost * float64(n.now.Sub(t.began)))
	n.trialTime += loss
	n.out.Counts.Trials = append(n.out.Counts.Trials, result)
	n.out.Counts.TrialLoss += growth.Seconds(loss.Seconds())
	n.log(Info, "two jobs have computed at the same time", "jobs", t.pair, "result", result, "speeds", [2]float64{a.Mean, b.Mean})
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
			n.log(Info, "two jobs compute at the same time, to measure their speeds", "jobs", t.pair,
				"predicted", t.slowdowns, "source", string(t.source))
			return true
		}
	}
	return false
}

// bestTrial returns the trial of the pair that is predicted to save most. What is certain counts more, so a pair that was
// measured on another node comes before one that was not measured at all.
func (n *Node) bestTrial(g gpuGroup) (best *corunTrial) {
	most := math.Inf(-1)
	for i, a := range g.jobs {
		for _, b := range g.jobs[:i] {
			if !slices.Equal(a.gpus, b.gpus) || !n.untried(a, b) {
				continue
			}
			p := n.prospect(a, b)
			if saved := p.saved(); p.mayPay() && saved > most {
				most = saved
				best = n.newTrial(a, b, p)
			}
		}
	}
	return best
}

func (n *Node) newTrial(a, b gpuJob, p prospect) *corunTrial {
	both := p.shares[0] + p.shares[1]
	return &corunTrial{
		pair:     [2]growth.PodUID{a.pod.Ref.UID, b.pod.Ref.UID},
		kinds:    [2]corun.Kind{a.interferes(), b.interferes()},
		parts:    [2]float64{p.shares[0] / both, p.shares[1] / both},
		began:    n.now,
		prospect: p,
	}
}

// untried reports whether a pair can be measured, and was not lately.
func (n *Node) untried(a, b gpuJob) bool {
	kinds := [2]corun.Kind{a.interferes(), b.interferes()}
	_, known := n.speeds.Predict(kinds[0], kinds[1:])
	_, knownToo := n.speeds.Predict(kinds[1], kinds[:1])
	old := n.speeds.Old(kinds[0], kinds[1]) || n.speeds.Old(kinds[1], kinds[0])
	_, tried := n.triedAt[kinds]
	_, triedToo := n.triedAt[[2]corun.Kind{kinds[1], kinds[0]}]
	free := a.gpu.set == 0 && b.gpu.set == 0 && a.bound() == 1 && b.bound() == 1
	return free && measurable(a, b) && (old || !known || !knownToo) && !tried && !triedToo
}

// measurable reports whether a pair would compute long enough to be measured.
func measurable(a, b gpuJob) bool {
	return a.clocked() && b.clocked() && max(a.gpu.share, b.gpu.share) >= leastTogether
}
