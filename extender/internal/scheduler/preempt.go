package scheduler

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/preempt"
)

// Candidate is a node on which the scheduler would evict victims for a pod, and how many of them would violate a
// disruption budget. Victims are ordered by falling priority.
type Candidate struct {
	Node       string
	Victims    []growth.PodUID
	Violations int64
}

// Preempt corrects the victims of the scheduler's dry run, which does not know single GPUs. It returns the one candidate
// that loses least, with victims that make room on GPUs, or none if no eviction would.
func (s *Scheduler) Preempt(object *corev1.Pod, offered []Candidate) ([]Candidate, error) {
	snapshot := s.Cache.Snapshot()
	if !snapshot.Synced {
		return nil, errUnsynced
	}
	pod, requests := request.Read(object, s.Resource)
	if !requests {
		return offered, nil
	}
	best, plan, err := s.bestCandidate(snapshot, pod, offered)
	if err != nil {
		return nil, err
	}
	if best == nil {
		s.Log.Info("no eviction makes room", "pod", pod.Ref, "nodes", len(offered))
		return nil, nil
	}
	s.Log.Info("evictions make room", "pod", pod.Ref, "node", best.Node, "victims", best.Victims,
		"growth", plan.Growth, "violations", best.Violations)
	s.nominations.add(pod.Ref.UID, nomination{node: best.Node, victims: best.Victims, at: time.Now()})
	return []Candidate{*best}, nil
}

// bestCandidate returns the corrected candidate that loses least, nil if no eviction makes room. Ties break by name.
func (s *Scheduler) bestCandidate(snapshot *cache.Snapshot, pod request.Pod, offered []Candidate) (*Candidate, preempt.Plan, error) {
	var best *Candidate
	var least preempt.Plan
	for _, c := range offered {
		corrected, plan, err := s.correct(snapshot, pod, c)
		if err != nil {
			return nil, preempt.Plan{}, err
		}
		if corrected == nil {
			continue
		}
		better := best == nil
		if !better {
			order := plan.Compare(least)
			better = order < 0 || order == 0 && corrected.Node < best.Node
		}
		if better {
			best, least = corrected, plan
		}
	}
	return best, least, nil
}

// correct returns the candidate with victims that make room on GPUs, nil if no eviction would.
func (s *Scheduler) correct(snapshot *cache.Snapshot, pod request.Pod, c Candidate) (*Candidate, preempt.Plan, error) {
	info := snapshot.Node(growth.NodeName(c.Node))
	if info == nil {
		return nil, preempt.Plan{}, nil
	}
	node, status := schedulable(info, pod)
	if !status.Fits() {
		return nil, preempt.Plan{}, nil
	}
	jobs, allowed, err := s.evictable(snapshot, info, pod)
	if err != nil {
		return nil, preempt.Plan{}, err
	}
	var dryRun []preempt.Job
	var others []growth.PodUID // victims without GPU memory: they free another resource
	for _, victim := range c.Victims {
		i := slices.IndexFunc(jobs, func(j preempt.Job) bool { return j.Pod == victim })
		if i >= 0 {
			dryRun = append(dryRun, jobs[i])
			continue
		}
		others = append(others, victim)
	}
	plan, status := preempt.Choose(node, pod.Request, jobs, dryRun, allowed)
	if !status.Fits() || len(plan.Victims)+len(others) == 0 {
		return nil, preempt.Plan{}, nil
	}
	// The violations that the scheduler counted for the others stay. Those of jobs are counted again.
	plan.Violations += max(0, int(c.Violations)-allowed.Violations(dryRun))
	corrected := &Candidate{Node: c.Node, Violations: int64(plan.Violations)}
	for _, job := range plan.Victims {
		corrected.Victims = append(corrected.Victims, job.Pod)
	}
	corrected.Victims = append(corrected.Victims, others...)
	return corrected, plan, nil
}
