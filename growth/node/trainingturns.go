package node

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth/loader"
)

// trainingCores returns the number of cores that the training processes of all jobs take. Jobs with exclusive cores use
// those. Of the jobs that take turns only those take any that have the turn.
func (n *Node) trainingCores() int {
	cores, saturated, counted := 0, n.saturated(), map[*job]bool{}
	for _, g := range n.groups {
		var all []loader.Training
		for _, j := range g.jobs {
			for _, pod := range n.podsInTurns(g, j) {
				counted[pod] = true
				all = append(all, n.trainingOf(pod))
			}
		}
		cores += loader.CoresInTurns(n.trainingAtOnce(g), all, saturated)
	}
	for uid, j := range n.jobs {
		if n.exclusive[uid] == 0 && !counted[j] {
			cores += n.trainingOf(j).Cores(saturated)
		}
	}
	return cores
}

// podsInTurns returns the pods of a job that compute in turns, on cores that others use as well. While jobs compute at the same time
// for a few seconds, to be measured, workers must not come and go.
func (n *Node) podsInTurns(g gpuGroup, j gpuJob) []*job {
	if !g.turns && !g.probed || j.always > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(j.pods), func(pod *job) bool {
		uid := pod.pod.Ref.UID
		return n.jobs[uid] != pod || n.exclusive[uid] > 0
	})
}

// trainingAtOnce returns the largest number of processes that compute at the same time in the turns of a group: on each GPU those of
// the job that has the turn, or of its set.
func (n *Node) trainingAtOnce(g gpuGroup) int {
	total := 0
	for _, gpu := range g.gpus {
		most, sets := 0, map[int]int{}
		for _, j := range g.jobs {
			if !slices.Contains(j.gpus, gpu) {
				continue
			}
			processes := 0
			for _, pod := range n.podsInTurns(g, j) {
				processes += n.trainingProcesses(pod)
			}
			processes = (processes + len(j.gpus) - 1) / len(j.gpus) // on each of its GPUs
			if set := j.gpu.set; set != 0 && !n.onTrial(j.job) {
				sets[set] += processes
				processes = sets[set]
			}
			most = max(most, processes)
		}
		total += most
	}
	return total
}
