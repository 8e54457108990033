package pods

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Pod is one pod of this node.
type Pod struct {
	Ref         growth.PodRef
	Annotations map[string]string
	Running     bool
	// Began is when its first container began, zero while none has.
	Began time.Time
	// Runs names what its containers run: pods for which it is the same do the same, with other numbers.
	Runs string
	// Numbers are those, in the order in which they stand there, and then what the environment says.
	Numbers []string
	// HostNetwork says that the pod has no network of its own.
	HostNetwork bool
	// Containers are the ordinary ones, in the pod's order.
	Containers []Container
	// Fixed says why the CPU of this pod can not be changed; empty where it can.
	Fixed string
	// Refusal is what kubelet says about a resize that it has not made.
	Refusal Refusal
}

// Container is one container.
type Container struct {
	Name string
	// Request is the CPU request in the spec, Limit the limit, 0 where there is none.
	Request, Limit growth.MilliCPU
	// Given is the request that kubelet has admitted, 0 where it does not say. It lags behind Request, and stays behind
	// one that can not be.
	Given growth.MilliCPU
	// ID is the runtime's for the container that runs now; empty while none does.
	ID string
}

// Refusal is a resize that waits (Deferred) or can not be (Infeasible), in kubelet's words.
type Refusal struct{ Reason, Message string }

// Infeasible tells that kubelet will not try again by itself.
func (r Refusal) Infeasible() bool { return r.Reason == corev1.PodReasonInfeasible }

// Read reads a pod.
func Read(p *corev1.Pod) Pod {
	pod := Pod{
		Ref:         growth.PodRef{Namespace: p.Namespace, Name: p.Name, UID: growth.PodUID(p.UID)},
		Annotations: maps.Clone(p.Annotations),
		Running:     p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil,
		Began:       began(p),
		HostNetwork: p.Spec.HostNetwork,
		Refusal:     refusal(p),
	}
	pod.Runs, pod.Numbers = runs(p)
	for _, c := range p.Spec.Containers {
		pod.Containers = append(pod.Containers, Container{
			Name:    c.Name,
			Request: growth.MilliCPU(c.Resources.Requests.Cpu().MilliValue()),
			Limit:   growth.MilliCPU(c.Resources.Limits.Cpu().MilliValue()),
			Given:   given(p.Status.ContainerStatuses, c.Name),
			ID:      running(p.Status.ContainerStatuses, c.Name),
		})
	}
	pod.Fixed = fixed(p, pod)
	return pod
}

// running returns the ID of the container that runs under a name; a status writes it "<runtime>://<ID>".
func running(statuses []corev1.ContainerStatus, name string) string {
	for _, s := range statuses {
		if s.Name == name && s.State.Running != nil {
			_, id, _ := strings.Cut(s.ContainerID, "://")
			return id
		}
	}
	return ""
}

// began is when the first of a pod's containers began, as kubelet tells it: in whole seconds.
func began(p *corev1.Pod) time.Time {
	var first time.Time
	earlier := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		for _, state := range []corev1.ContainerState{s.LastTerminationState, s.State} {
			if state.Running != nil {
				earlier(state.Running.StartedAt.Time)
			}
			if state.Terminated != nil {
				earlier(state.Terminated.StartedAt.Time)
			}
		}
	}
	return first
}

// Ours tells whether a pod asks for a share of a GPU.
func Ours(p *corev1.Pod) bool { return gpushare.RequestsShare(p.Annotations) }

// refusal is what kubelet says of the resize that stands, not of one before.
func refusal(p *corev1.Pod) Refusal {
	at := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizePending && c.Status == corev1.ConditionTrue
	})
	if at < 0 {
		return Refusal{}
	}
	c := p.Status.Conditions[at]
	if c.ObservedGeneration > 0 && c.ObservedGeneration < p.Generation {
		return Refusal{}
	}
	return Refusal{Reason: c.Reason, Message: c.Message}
}

// given is the request that kubelet has admitted for a container: as it has booked it, else as it is in effect, which a
// cgroup's weight may round.
func given(statuses []corev1.ContainerStatus, name string) growth.MilliCPU {
	for _, s := range statuses {
		if s.Name != name {
			continue
		}
		if cpu, ok := s.AllocatedResources[corev1.ResourceCPU]; ok {
			return growth.MilliCPU(cpu.MilliValue())
		}
		if s.Resources != nil {
			return growth.MilliCPU(s.Resources.Requests.Cpu().MilliValue())
		}
	}
	return 0
}

func fixed(p *corev1.Pod, pod Pod) string {
	switch {
	case p.Status.QOSClass == corev1.PodQOSGuaranteed:
		return "its QoS class is Guaranteed: give it a CPU request without an equal limit to have it tuned"
	case p.Spec.Resources != nil:
		return "its resources are set for the pod as a whole: set CPU requests per container to have it tuned"
	case pod.Request() == 0:
		return "it has no CPU request: give it one to have it tuned"
	}
	for _, c := range p.Spec.Containers {
		for _, policy := range c.ResizePolicy {
			if policy.ResourceName == corev1.ResourceCPU && policy.RestartPolicy == corev1.RestartContainer {
				return "container " + c.Name + " asks to be restarted when its CPU changes"
			}
		}
	}
	return ""
}

// Limit is the CPU limit of all containers together; 0 if one of them has none.
func (p Pod) Limit() growth.MilliCPU {
	var sum growth.MilliCPU
	for _, c := range p.Containers {
		if c.Limit == 0 {
			return 0
		}
		sum += c.Limit
	}
	return sum
}

// Trainer is the container that trains: the one the pod declares its default, else its first. It is empty for a pod
// without containers.
func (p Pod) Trainer() Container {
	named := p.Annotations["kubectl.kubernetes.io/default-container"]
	for _, c := range p.Containers {
		if c.Name == named {
			return c
		}
	}
	if len(p.Containers) > 0 {
		return p.Containers[0]
	}
	return Container{}
}

// Request is the CPU request of all containers now.
func (p Pod) Request() growth.MilliCPU {
	var sum growth.MilliCPU
	for _, c := range p.Containers {
		sum += c.Request
	}
	return sum
}
