package scheduler

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
	"github.com/trellis-gpu/trellis/growth/preempt"
)

// Budgets lists disruption budgets.
type Budgets interface {
	In(namespace string) ([]*policyv1.PodDisruptionBudget, error)
}

// Candidate is a node on which the scheduler would evict pods for another, and how many of them would violate a disruption
// budget. Victims are ordered by falling priority.
type Candidate struct {
	Node       string
	Victims    []growth.PodUID
	Violations int64
}

// Preempt corrects what the scheduler's dry run, which knows no single GPU, would evict for the pod. It returns the one
// candidate that loses least, with victims that make room on GPUs, or none where no eviction would.
func (d *Decider) Preempt(pod *corev1.Pod, offered []Candidate) ([]Candidate, error) {
	snapshot := d.View.Snapshot()
	if !snapshot.Synced {
		return nil, errUnsynced
	}
	asked, asks := request.Read(pod, d.Resource)
	if !asks {
		return offered, nil
	}
	var best *Candidate
	var least preempt.Plan
	for _, c := range offered {
		corrected, plan, err := d.correct(snapshot, asked, c)
		if err != nil {
			return nil, err
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
	if best == nil {
		d.Log.Info("no eviction makes room", "pod", asked.Ref, "nodes", len(offered))
		return nil, nil
	}
	d.Log.Info("room is made", "pod", asked.Ref, "node", best.Node, "victims", best.Victims, "growth", least.Growth, "violations", best.Violations)
	d.Decisions.preempted(asked, promise{node: best.Node, victims: best.Victims})
	return []Candidate{*best}, nil
}

// kept tells whether the pod fits the node that it was promised, as soon as those who were evicted for it are gone from the books.
// The scheduler tries again the moment they are gone from the API server, which may be before we hear of it; told then that the
// node is crowded, it would wait for its next event, minutes maybe. Bind believes no promise: where there is no room yet it
// says so, and is tried again after a second.
func (p promise) kept(here *cache.Node, asked request.Pod) bool {
	if here == nil || p.node != string(here.Name) {
		return false
	}
	n, misfit := site(here, asked)
	if !misfit.Fits() {
		return false
	}
	for _, victim := range p.victims {
		n = n.Without(victim)
	}
	return placement.Fit(n, asked.Request).Fits()
}

// correct returns the candidate with victims that make room on GPUs; nil where no eviction would.
func (d *Decider) correct(snapshot *cache.Snapshot, asked request.Pod, c Candidate) (*Candidate, preempt.Plan, error) {
	here := snapshot.Node(growth.NodeName(c.Node))
	if here == nil {
		return nil, preempt.Plan{}, nil
	}
	n, misfit := site(here, asked)
	if !misfit.Fits() {
		return nil, preempt.Plan{}, nil
	}
	jobs, allowed, err := d.evictable(snapshot, here, asked)
	if err != nil {
		return nil, preempt.Plan{}, err
	}
	var dry []preempt.Job
	var strangers []growth.PodUID // hold no GPU memory, and are in the way for another reason
	for _, victim := range c.Victims {
		if i := slices.IndexFunc(jobs, func(j preempt.Job) bool { return j.Pod == victim }); i >= 0 {
			dry = append(dry, jobs[i])
			continue
		}
		strangers = append(strangers, victim)
	}
	plan, misfit := preempt.Choose(n, asked.Request, jobs, dry, allowed)
	if !misfit.Fits() || len(plan.Victims)+len(strangers) == 0 {
		return nil, preempt.Plan{}, nil
	}
	// What the scheduler counted for strangers stays; ours are counted anew.
	plan.Violations += max(0, int(c.Violations)-allowed.Violations(dry))
	corrected := &Candidate{Node: c.Node, Violations: int64(plan.Violations)}
	for _, job := range plan.Victims {
		corrected.Victims = append(corrected.Victims, job.Pod)
	}
	corrected.Victims = append(corrected.Victims, strangers...)
	return corrected, plan, nil
}

// evictable lists who holds GPU memory on the node and matters less than the pod, and what their budgets allow.
func (d *Decider) evictable(snapshot *cache.Snapshot, here *cache.Node, asked request.Pod) ([]preempt.Job, preempt.DisruptionsAllowed, error) {
	var jobs []preempt.Job
	allowed := preempt.DisruptionsAllowed{}
	seen := map[growth.PodUID]bool{}
	for _, g := range here.GPUs {
		for _, r := range g.Residents {
			pod, known := snapshot.Pods.Get(r.Pod)
			if seen[r.Pod] || !known || pod.Node != here.Name || pod.Priority >= asked.Priority {
				continue
			}
			seen[r.Pod] = true
			job := preempt.Job{
				Pod: r.Pod, Priority: pod.Priority, Growth: left(snapshot, r.Pod), Created: pod.Created, CPU: pod.CPU, Memory: pod.Memory,
			}
			budgets, err := d.guards(*pod, allowed)
			if err != nil {
				return nil, nil, err
			}
			job.Budgets = budgets
			jobs = append(jobs, job)
		}
	}
	return jobs, allowed, nil
}

// left is what a job still learns: everything, until it has reported.
func left(snapshot *cache.Snapshot, pod growth.PodUID) growth.Growth {
	s, known := snapshot.Sample(pod)
	if !known || !s.Reported {
		return placement.NewJobGrowth
	}
	return s.Growth
}

// guards names the budgets that select the pod, and notes what they allow. A pod that is being disrupted already is counted by
// its budget no more.
func (d *Decider) guards(pod request.Pod, allowed preempt.DisruptionsAllowed) ([]preempt.Budget, error) {
	budgets, err := d.Budgets.In(pod.Ref.Namespace)
	if err != nil {
		return nil, fmt.Errorf("listing disruption budgets: %w", err)
	}
	var guards []preempt.Budget
	for _, b := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || len(pod.Labels) == 0 || selector.Empty() || !selector.Matches(labels.Set(pod.Labels)) {
			continue // as kube-scheduler does
		}
		if _, disrupted := b.Status.DisruptedPods[pod.Ref.Name]; disrupted {
			continue
		}
		name := preempt.Budget(b.Namespace + "/" + b.Name)
		allowed[name] = int(b.Status.DisruptionsAllowed)
		guards = append(guards, name)
	}
	return guards, nil
}
