package node

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// chooseSets decides which jobs of a group hold the turn together. It returns whether that pays in comparison with plain
// sharing, and whether plain sharing pays more.
func (n *Node) chooseSets(g *gpuGroup) (pays, plain bool) {
	number := 0
	for i := range g.jobs {
		g.jobs[i].gpu.set, g.jobs[i].gpu.speed = 0, 1
	}
	if g.because != "" || len(g.jobs) < 2 || !n.allConnected(*g) {
		return false, false
	}
	for _, same := range g.onSameGPUs() {
		jobs, rest := same.input()
		c := corun.Choose(&n.speeds, jobs, rest)
		for _, set := range c.Sets {
			number++
			for _, i := range set {
				same.jobs[i].gpu.set = number
				same.jobs[i].gpu.speed = c.Speeds[i]
			}
			plain = plain || len(set) == len(g.jobs)
		}
		pays = pays || len(c.Sets) > 0 && c.PaysOverPlain()
		plain = plain || len(same.jobs) == len(g.jobs) && c.PlainIsBetter()
	}
	if !plain {
		n.applyTrial(g, number+1)
	}
	return pays && !plain, plain
}

// sameGPUs are the jobs of a group that have the same GPUs, and the others there.
type sameGPUs struct{ jobs, others []gpuJob }

// onSameGPUs returns the jobs of the group by their GPUs, in the order of the jobs.
func (g gpuGroup) onSameGPUs() (all []sameGPUs) {
	for _, j := range g.jobs {
		i := slices.IndexFunc(all, func(s sameGPUs) bool { return slices.Equal(s.jobs[0].gpus, j.gpus) })
		if i >= 0 {
			all[i].jobs = append(all[i].jobs, j)
			continue
		}
		s := sameGPUs{jobs: []gpuJob{j}}
		for _, other := range g.sharers(j) {
			if !slices.Equal(other.gpus, j.gpus) {
				s.others = append(s.others, other)
			}
		}
		all = append(all, s)
	}
	return all
}

func (s sameGPUs) input() (jobs []corun.Job, rest growth.Share) {
	for _, j := range s.jobs {
		jobs = append(jobs, corun.Job{Kind: j.interferes(), Share: j.gpu.share})
	}
	for _, j := range s.others {
		rest += j.gpu.share
	}
	return jobs, rest
}

// speedups returns the work per second of each GPU under plain sharing, where it was measured.
func (n *Node) speedups(g gpuGroup) map[growth.GPU]float64 {
	speedups := map[growth.GPU]float64{}
	for _, same := range g.onSameGPUs() {
		jobs, _ := same.input()
		if plain := corun.Plain(&n.speeds, jobs); plain > 1 && len(same.others) == 0 {
			for _, gpu := range same.jobs[0].gpus {
				speedups[gpu] = plain
			}
		}
	}
	return speedups
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

// mates returns the other jobs with which a job holds the turn.
func (g gpuGroup) mates(of gpuJob) (mates []gpuJob) {
	for _, j := range g.jobs {
		if j.job != of.job && of.gpu.set != 0 && j.gpu.set == of.gpu.set {
			mates = append(mates, j)
		}
	}
	return mates
}

// reportSet records once that a job computes at the same time as others, which is not what turns promise.
func (n *Node) reportSet(g gpuGroup, j gpuJob) {
	mates := g.mates(j)
	if len(mates) == 0 || n.corunTrial != nil && slices.Contains(n.corunTrial.pair[:], j.pod.Ref.UID) {
		return
	}
	var names []string
	for _, mate := range mates {
		names = append(names, mate.pod.Ref.String())
	}
	n.event(j.job, oncePerJob, false, "GPUSharedAtTheSameTime",
		fmt.Sprintf("The job computes on %s at the same time as %s: it then makes %.0f %% of its steps per second alone, "+
			"and all of them together more than in turns", gpuNames(j.gpus), strings.Join(names, ", "), 100*j.gpu.speed))
}

// allConnected reports whether all jobs of the group pause themselves. Sets hold the turn together, and their speeds are
// measured, only among such jobs.
func (n *Node) allConnected(g gpuGroup) bool {
	return !slices.ContainsFunc(g.jobs, func(j gpuJob) bool { return j.always > 0 || n.freezes(j) != "" })
}
