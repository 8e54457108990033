package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// parkPaused gives paused jobs the least request, and returns the other jobs with the rest of the pool.
func (n *Node) parkPaused(jobs []*job, originals []Requests, pool growth.MilliCPU) ([]*job, []Requests, growth.MilliCPU) {
	for i, j := range jobs {
		if !j.isPaused() {
			continue
		}
		least := j.pod.minimum()
		j.lifetime.hold(j.share, n.now)
		j.share = 0
		j.wanted = j.pod.Divide(j.pod.appsFor(least), originals[i])
		pool = max(pool-least, 0)
	}
	jobs, originals = n.active(jobs, originals)
	return jobs, originals, pool
}

// active returns the jobs that are not paused.
func (n *Node) active(jobs []*job, originals []Requests) (others []*job, theirs []Requests) {
	for i, j := range jobs {
		if !j.isPaused() {
			others = append(others, j)
			theirs = append(theirs, originals[i])
		}
	}
	return others, theirs
}

// pausedOnCPU returns the paused jobs for package fairfinish.
func (n *Node) pausedOnCPU() []fairfinish.Job {
	var paused []fairfinish.Job
	for _, j := range n.sorted() {
		if j.tunable() && j.isPaused() && !j.pod.Ended() {
			paused = append(paused, n.paused(j, growth.Work(j.metered.CPU)))
		}
	}
	return paused
}

// pausedOnGPUs returns the jobs that have stopped, likewise.
func (n *Node) pausedOnGPUs() []fairfinish.Job {
	var paused []fairfinish.Job
	for _, j := range n.sorted() {
		if j.identity() == j && j.leavesGPU() && !j.pod.Ended() {
			paused = append(paused, n.paused(j, growth.Work(j.gpu.used)))
		}
	}
	return paused
}

func (n *Node) paused(j *job, used growth.Work) fairfinish.Job {
	return fairfinish.Job{ID: j.pod.Ref.UID, Used: used, Remaining: n.forecast(j.leader()).remaining, Paused: true}
}

// keepPaused keeps the accounts of paused jobs on GPUs that no other job uses.
func (n *Node) keepPaused(fair fairfinish.State) {
	for _, j := range n.pausedOnGPUs() {
		if a, known := n.gpuFair.Accounts[j.ID]; known && fair.Accounts[j.ID].Weight == 0 {
			a.Paused = true
			fair.Accounts[j.ID] = a
		}
	}
}
