package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
)

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

// sameGPUs are the jobs of a group that have the same GPUs and may compute at the same time, and the others there. A job with
// gpushare/gpu-cores is one of the others: in a set it would take more than its bound.
type sameGPUs struct{ jobs, others []gpuJob }

// onSameGPUs returns the jobs of the group by their GPUs, in the order of the jobs.
func (g gpuGroup) onSameGPUs() (all []sameGPUs) {
	for _, j := range g.jobs {
		if j.bound() < 1 {
			continue
		}
		i := slices.IndexFunc(all, func(s sameGPUs) bool { return slices.Equal(s.jobs[0].gpus, j.gpus) })
		if i >= 0 {
			all[i].jobs = append(all[i].jobs, j)
			continue
		}
		s := sameGPUs{jobs: []gpuJob{j}}
		for _, other := range g.sharers(j) {
			if !slices.Equal(other.gpus, j.gpus) || other.bound() < 1 {
				s.others = append(s.others, other)
			}
		}
		all = append(all, s)
	}
	return all
}

func (s sameGPUs) input() (jobs []corun.Job, rest growth.Share) {
	for _, j := range s.jobs {
		kind := j.interferes()
		if j.gpu.stale {
			kind = corun.Kind("changed " + j.pod.Ref.UID) // never measured
		}
		jobs = append(jobs, corun.Job{Kind: kind, Share: j.gpu.share})
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

// mates returns the other jobs with which a job holds the turn.
func (g gpuGroup) mates(of gpuJob) (mates []gpuJob) {
	for _, j := range g.jobs {
		if j.job != of.job && of.gpu.set != 0 && j.gpu.set == of.gpu.set {
			mates = append(mates, j)
		}
	}
	return mates
}

// countSet counts the time in which the job has held its GPUs in a set.
func (j *job) countSet(r gpuReading) {
	if j.gpu.set == 0 {
		return
	}
	for _, t := range r.together {
		j.gpu.inSets += t.Held
	}
}

// reportSet records once that a job computes at the same time as others, in a set or because all do more so than in turns. That is
// not what turns promise.
func (n *Node) reportSet(g gpuGroup, j gpuJob) {
	mates, speed := g.mates(j), j.gpu.speed
	if g.together {
		mates = g.sharers(j)
		speed = n.speedNextTo(j, mates)
	}
	if len(mates) == 0 || speed == 0 || n.onTrial(j.job) {
		return
	}
	var names []string
	for _, mate := range mates {
		names = append(names, mate.pod.Ref.String())
	}
	n.event(j.job, oncePerJob, false, "GPUSharedAtTheSameTime",
		fmt.Sprintf("The job computes on %s at the same time as %s: it then makes %.0f %% of its steps per second alone, "+
			"and all of them together more than in turns", gpuNames(j.gpus), strings.Join(names, ", "), 100*speed))
}

// speedNextTo returns the speed of a job next to others; 0 if it is not known.
func (n *Node) speedNextTo(j gpuJob, others []gpuJob) float64 {
	var kinds []corun.Kind
	for _, other := range others {
		kinds = append(kinds, other.interferes())
	}
	s, known := n.speeds.Predict(j.interferes(), kinds)
	if !known {
		return 0
	}
	return s.Mean
}

// allConnected reports whether all jobs of the group pause themselves. Sets hold the turn together, and their speeds are
// measured, only among such jobs.
func (n *Node) allConnected(g gpuGroup) bool {
	return !slices.ContainsFunc(g.jobs, func(j gpuJob) bool { return j.always > 0 || n.freezes(j) != "" })
}
