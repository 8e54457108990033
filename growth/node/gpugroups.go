package node

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// gpuJob is a job on GPUs of the node: a pod, or the pods of a gang.
type gpuJob struct {
	// job is the pod that identifies the job: the one with the lowest UID. It has the job's GPU time.
	*job
	pods []*job
	gpus []growth.GPU
	// always is the measured part of the time of its GPUs of a job that computes next to jobs that take turns. It is 0 for
	// other jobs.
	always growth.Share
	// overlaps is set if the processes of the jobs on its GPUs are clients of MPS.
	overlaps bool
}

// width returns the number of GPUs of the job.
func (g gpuJob) width() growth.Seconds { return growth.Seconds(len(g.gpus)) }

// gpuGroup is a set of GPUs that jobs on several GPUs connect, and the jobs on them.
type gpuGroup struct {
	gpus []growth.GPU
	jobs []gpuJob
	// gains is set if the shares differ from those of plain sharing, or a job has a bound (gpushare/gpu-cores). turns is set if the jobs
	// take turns. because says why they cannot, if the job blocker cannot be paused.
	gains   bool
	turns   bool
	because string
	blocker growth.PodUID
	// together is set if the jobs do more at the same time than in turns, probed if they compute at the same time to find
	// that out. clocking is set while each job has turns, to measure its speed alone before that.
	together, probed, clocking bool
}

// gpuJobs returns the jobs whose processes run on GPUs of the node, in the order of their UIDs.
func (n *Node) gpuJobs() []gpuJob {
	var jobs []gpuJob
	index := map[*job]int{}
	for _, j := range n.sorted() {
		gpus := n.gpus(j.pod.Ref.UID)
		if len(gpus) == 0 || j.pod.Ended() || j.leavesGPU() {
			continue
		}
		i, known := index[j.leader()]
		if !known {
			i = len(jobs)
			index[j.leader()] = i
			jobs = append(jobs, gpuJob{job: j})
		}
		jobs[i].pods = append(jobs[i].pods, j)
		jobs[i].gpus = append(jobs[i].gpus, gpus...)
	}
	for i := range jobs {
		slices.Sort(jobs[i].gpus)
		jobs[i].gpus = slices.Compact(jobs[i].gpus)
		jobs[i].overlaps = n.overlaps(jobs[i].gpus)
	}
	return jobs
}

// connect returns the groups of GPUs that the jobs use. Two GPUs are in one group if a job uses both, or if other GPUs
// connect them in this way.
func connect(jobs []gpuJob) []gpuGroup {
	var groups []gpuGroup
	for _, j := range jobs {
		merged := gpuGroup{gpus: slices.Clone(j.gpus), jobs: []gpuJob{j}}
		shares := func(gpu growth.GPU) bool { return slices.Contains(j.gpus, gpu) }
		groups = slices.DeleteFunc(groups, func(g gpuGroup) bool {
			if !slices.ContainsFunc(g.gpus, shares) {
				return false
			}
			merged.gpus = append(merged.gpus, g.gpus...)
			merged.jobs = append(merged.jobs, g.jobs...)
			return true
		})
		groups = append(groups, merged)
	}
	for i := range groups {
		g := &groups[i]
		slices.Sort(g.gpus)
		g.gpus = slices.Compact(g.gpus)
		slices.SortFunc(g.jobs, func(a, b gpuJob) int { return cmp.Compare(a.pod.Ref.UID, b.pod.Ref.UID) })
	}
	slices.SortFunc(groups, func(a, b gpuGroup) int { return cmp.Compare(a.gpus[0], b.gpus[0]) })
	return groups
}

// placement returns the GPUs of each job of the group.
func (g gpuGroup) placement() [][]growth.GPU {
	on := make([][]growth.GPU, len(g.jobs))
	for i, j := range g.jobs {
		on[i] = j.gpus
	}
	return on
}

// limit returns the largest part of the time of its GPUs that a job is given while others compete for them.
func (g gpuJob) limit() growth.Share {
	limit := g.bound()
	if g.always > 0 {
		limit = min(limit, g.always)
	}
	return limit
}

func (g gpuGroup) limits() []growth.Share {
	limits := make([]growth.Share, len(g.jobs))
	for i, j := range g.jobs {
		limits[i] = j.limit()
	}
	return limits
}

// plainShares returns the part of the time of its GPUs that each job has if all compute at the same time.
func (g gpuGroup) plainShares() []growth.Share {
	equal := make([]float64, len(g.jobs))
	limits := make([]growth.Share, len(g.jobs))
	for i, j := range g.jobs {
		equal[i], limits[i] = 1, 1
		if j.always > 0 {
			limits[i] = j.always
		}
	}
	return fairfinish.LimitedTimeShares(equal, limits, g.placement())
}

// sharers returns the other jobs on the GPUs of a job.
func (g gpuGroup) sharers(of gpuJob) (others []gpuJob) {
	for _, j := range g.jobs {
		if j.job != of.job && slices.ContainsFunc(j.gpus, func(gpu growth.GPU) bool { return slices.Contains(of.gpus, gpu) }) {
			others = append(others, j)
		}
	}
	return others
}
