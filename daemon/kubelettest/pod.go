package kubelettest

import (
	"context"
	"fmt"
	"slices"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Pod is a pod on this kubelet.
type Pod struct {
	Namespace, Name string
	Containers      []*Container
	// CPUNodes are the NUMA nodes that have the exclusive CPUs which each container requests; empty for a pod that
	// requests none.
	CPUNodes []int
}

// Container is a container that requests units, with its allocation.
type Container struct {
	Name  string
	Units int
	// Init containers pass their ids to later containers.
	Init bool

	IDs    []string
	Env    map[string]string
	Mounts []*pluginapi.Mount

	forgotten bool // the checkpoint with its ids was lost
}

// Admit admits a pod or returns the reason for rejecting it.
func (k *Kubelet) Admit(ctx context.Context, pod *Pod) error {
	k.admission.Lock()
	defer k.admission.Unlock()
	k.mu.Lock()
	k.pods = append(k.pods, pod)
	k.mu.Unlock()
	var reusable []string
	for _, c := range pod.Containers {
		if err := k.allocate(ctx, pod, c, reusable); err != nil {
			k.Remove(pod)
			return fmt.Errorf("pod %s, container %s: %w", pod.Name, c.Name, err)
		}
		reusable = slices.DeleteFunc(reusable, func(id string) bool { return slices.Contains(c.IDs, id) })
		if c.Init {
			reusable = append(reusable, c.IDs...)
		}
	}
	return nil
}

func (k *Kubelet) allocate(ctx context.Context, pod *Pod, c *Container, reusable []string) error {
	k.mu.Lock()
	k.recountIfStale()
	e := k.endpoint
	free := k.free()
	nodes, unaligned := k.align(pod, c)
	aligned, _ := k.splitByTopology(free, nodes)
	known := k.devices != nil
	healthy, adopted := len(k.healthy()), slices.ContainsFunc(k.pods, func(p *Pod) bool { return p.holds() })
	k.mu.Unlock()
	switch {
	case !known && adopted:
		return fmt.Errorf("cannot allocate unregistered device %s", k.resource)
	case !known || c.Units == 0:
		return nil // kubelet ignores resources without a plugin
	case healthy == 0:
		return fmt.Errorf("no healthy devices present; cannot allocate unhealthy devices %s", k.resource)
	}
	if unaligned != nil {
		return unaligned
	}
	chosen, err := k.choose(ctx, e, c.Units, reusable, free, aligned)
	if err != nil {
		return err
	}
	k.reserve(chosen)
	reply, err := e.Allocate(ctx, &pluginapi.AllocateRequest{
		ContainerRequests: []*pluginapi.ContainerAllocateRequest{{DevicesIds: chosen}},
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.recount()
		return err
	}
	c.IDs = chosen
	c.forgotten = false
	c.Env = reply.GetContainerResponses()[0].GetEnvs()
	c.Mounts = reply.GetContainerResponses()[0].GetMounts()
	return nil
}

// choose returns reusable ids first. It then takes the aligned ids, unless kubelet has a choice among them, and asks the
// plugin for the rest.
func (k *Kubelet) choose(
	ctx context.Context, e *endpoint, units int, reusable, free, aligned []string,
) ([]string, error) {
	chosen := slices.Clone(reusable[:min(len(reusable), units)])
	need := units - len(chosen)
	if need > len(free) {
		return nil, fmt.Errorf("requested number of devices unavailable for %s. Requested: %d, Available: %d", k.resource,
			need, len(free))
	}
	if need < len(aligned) {
		free = aligned
	} else {
		chosen = append(chosen, aligned...)
		free = slices.DeleteFunc(free, func(id string) bool { return slices.Contains(aligned, id) })
	}
	if len(chosen) == units {
		return chosen, nil
	}
	rest, err := e.prefer(ctx, chosen, free, units)
	return append(chosen, rest...), err
}

func (k *Kubelet) reserve(ids []string) {
	k.mu.Lock()
	if k.allocated == nil {
		k.allocated = map[string]bool{}
	}
	for _, id := range ids {
		k.allocated[id] = true
	}
	event := k.duringAllocate
	k.duringAllocate = nil
	k.mu.Unlock()
	if event != nil {
		event()
	}
}

// prefer asks the plugin for preferred ids, if it offers that, and adds free ids.
func (e *endpoint) prefer(ctx context.Context, chosen, free []string, units int) ([]string, error) {
	var preferred []string
	if e.options.GetGetPreferredAllocationAvailable() {
		reply, err := e.GetPreferredAllocation(ctx, &pluginapi.PreferredAllocationRequest{
			ContainerRequests: []*pluginapi.ContainerPreferredAllocationRequest{{
				AvailableDeviceIDs:   slices.Concat(free, chosen),
				MustIncludeDeviceIDs: chosen,
				AllocationSize:       int32(units),
			}},
		})
		if err != nil {
			return nil, err
		}
		preferred = reply.GetContainerResponses()[0].GetDeviceIDs()
	}
	var rest []string
	for _, id := range slices.Concat(preferred, free) {
		if slices.Contains(free, id) && len(rest) < units-len(chosen) && !slices.Contains(rest, id) {
			rest = append(rest, id)
		}
	}
	return rest, nil
}

// StartContainers starts all containers of a pod, with PreStartContainer.
func (k *Kubelet) StartContainers(ctx context.Context, pod *Pod) error {
	for _, c := range pod.Containers {
		if err := k.StartContainer(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// StartContainer starts a container of an admitted pod. If no plugin has registered since kubelet's restart, kubelet
// does not know that PreStartContainer is required.
func (k *Kubelet) StartContainer(ctx context.Context, c *Container) error {
	k.mu.Lock()
	e := k.endpoint
	stopped := e != nil && e.stopped
	forgotten := c.forgotten
	k.mu.Unlock()
	if e != nil && forgotten && e.options.GetPreStartRequired() {
		return fmt.Errorf("no devices found allocated in local cache for container %s, resource %s", c.Name, k.resource)
	}
	if e == nil || len(c.IDs) == 0 || !e.options.GetPreStartRequired() {
		return nil
	}
	if stopped {
		return fmt.Errorf("the plugin of %s has been stopped", k.resource)
	}
	_, err := e.PreStartContainer(ctx, &pluginapi.PreStartContainerRequest{DevicesIds: c.IDs})
	return err
}

// Remove removes a pod and frees its devices.
func (k *Kubelet) Remove(pod *Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods = slices.DeleteFunc(k.pods, func(p *Pod) bool { return p == pod })
	k.stale = true
}

func (p *Pod) holds() bool {
	return slices.ContainsFunc(p.Containers, func(c *Container) bool { return len(c.IDs) > 0 })
}
