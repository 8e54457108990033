package node

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// Pods of one owner with the same command form one job (a gang), unless they train independently of each other, as the
// pods of a hyperparameter search do. They are one job if
//   - no two of them report as the same rank of several processes, and
//   - their command or environment is that of a distributed job, or a process names a world size that is
//     larger than its pod, or at most one of them reports a metric.
//
// A gang has one curve: that of its lead, the pod that reports with the lowest rank. Its pods have equal shares on a
// node, because a synchronous step ends when the slowest rank ends.

// gangKey returns the key that the pods of one job share. It is empty for a pod without an owner.
func (j *job) gangKey() string {
	if j.pod.Owner == "" || j.pod.Command == "" || j.pod.Ended() {
		return ""
	}
	return fmt.Sprintf("%q", []string{
		j.pod.Ref.Namespace, j.pod.Owner, j.pod.Command, j.spec.Metric, j.spec.Direction.String(), string(j.spec.Progress.Source),
	})
}

// spanning returns the name of the job that this pod and pods on other nodes belong to. It is empty if the pod is a job of
// its own, as far as this node can see.
func (j *job) spanning() string {
	key := j.gangKey()
	if key == "" || j.independent || !j.pod.Distributed && !j.processes.spanPods() {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// leader returns the pod whose curve is that of the job.
func (j *job) leader() *job {
	if j.gang == nil {
		return j
	}
	return j.gang
}

// identity returns the pod that has the state of the whole job: the one with the lowest UID.
func (j *job) identity() *job {
	if j.first == nil {
		return j
	}
	return j.first
}

// follows reports whether another pod has the curve of the job.
func (j *job) follows() bool { return j.leader() != j }

// formGangs updates the gangs of the node.
func (n *Node) formGangs() {
	groups := map[string][]*job{}
	for _, j := range n.sorted() {
		j.gang, j.first = nil, nil
		j.independent = false
		if key := j.gangKey(); key != "" {
			groups[key] = append(groups[key], j)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		pods := groups[key]
		if !oneJob(pods) {
			for _, j := range pods {
				j.independent = true
			}
			continue
		}
		if len(pods) < 2 {
			continue
		}
		lead := slices.MinFunc(pods, leadsBefore)
		for _, j := range pods {
			j.gang, j.first = lead, pods[0]
		}
		n.announceGang(lead, pods)
	}
}

// oneJob reports whether pods of one owner with the same command are one job.
func oneJob(pods []*job) bool {
	distributed, reporting := false, 0
	seen := map[int]bool{}
	for _, j := range pods {
		distributed = distributed || j.pod.Distributed || j.processes.spanPods()
		if j.reported {
			reporting++
		}
		for rank := range j.processes.ranks() {
			if seen[rank] {
				return false
			}
			seen[rank] = true
		}
	}
	return distributed || reporting <= 1
}

// leadsBefore orders the pods of a gang: pods that report first, then lower ranks.
func leadsBefore(a, b *job) int {
	switch {
	case a.reported && !b.reported:
		return -1
	case b.reported && !a.reported:
		return 1
	}
	return a.processes.lowest() - b.processes.lowest()
}

// announceGang records once for each pod that it belongs to a job of several pods.
func (n *Node) announceGang(lead *job, pods []*job) {
	for _, j := range pods {
		silent := n.now.Sub(j.arrived) > silentAfter*n.config.Interval
		if j == lead || !lead.reported || !silent && !lead.pod.Distributed {
			continue
		}
		n.event(j, oncePerJob, false, "PodOfOneJob",
			fmt.Sprintf("This pod and %s are one job, by their command and their owner or gang: the %d pods of the job on this "+
				"node get equal shares, and %s of %s is its metric", lead.pod.Ref.Name, len(pods), lead.spec.Metric, lead.pod.Ref.Name))
	}
}

// followLeads gives the other pods of each gang the growth and the category of their lead.
func (n *Node) followLeads() {
	for _, j := range n.sorted() {
		if !j.follows() {
			continue
		}
		lead := j.leader()
		j.reading = lead.reading
		if n.config.Policy != policy.FlowConLiteral {
			n.categorise(j, lead.category, "as "+lead.pod.Ref.Name+", which is the same job")
		}
	}
}

// equalise gives the pods of each gang equal shares of what the policy has granted them together.
func equalise(jobs []*job, grants []grant) {
	members := map[*job][]int{}
	for i, j := range jobs {
		if j.gang != nil {
			members[j.gang] = append(members[j.gang], i)
		}
	}
	for lead, pods := range members {
		if len(pods) < 2 {
			continue
		}
		share, weight := growth.Share(0), 0.0
		category := grants[pods[0]].category
		for _, i := range pods {
			share += grants[i].share
			weight += grants[i].weight
			if jobs[i] == lead {
				category = grants[i].category
			}
		}
		for _, i := range pods {
			g := &grants[i]
			g.share = share / growth.Share(len(pods))
			g.weight = weight / float64(len(pods))
			g.category = category
			g.reason += fmt.Sprintf("; equal for the %d pods of the job", len(pods))
		}
	}
}
