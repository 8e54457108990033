package kubelettest

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Pod is a pod on this kubelet.
type Pod struct {
	Namespace, Name string
	Containers      []*Container
}

// Container is a container that asks for units, and what it was given.
type Container struct {
	Name  string
	Units int
	// Init containers give their ids to the containers after them.
	Init bool

	IDs    []string
	Env    map[string]string
	Mounts []*deviceplugin.Mount
}

// Admit takes a pod in, or says why not.
func (k *Kubelet) Admit(ctx context.Context, pod *Pod) error {
	k.mu.Lock()
	k.pods = append(k.pods, pod)
	k.mu.Unlock()
	var reusable []string
	for _, c := range pod.Containers {
		if err := k.allocate(ctx, c, reusable); err != nil {
			k.Remove(pod)
			return fmt.Errorf("pod %s, container %s: %w", pod.Name, c.Name, err)
		}
		if c.Init {
			reusable = c.IDs
		}
	}
	return nil
}

func (k *Kubelet) allocate(ctx context.Context, c *Container, reusable []string) error {
	k.mu.Lock()
	plugin, free := k.plugin, k.free()
	k.mu.Unlock()
	if plugin == nil {
		return fmt.Errorf("cannot allocate unregistered device %s", k.resource)
	}
	chosen := slices.Clone(reusable[:min(len(reusable), c.Units)])
	if need := c.Units - len(chosen); need > len(free) {
		return fmt.Errorf("requested number of devices unavailable: %d, available %d", need, len(free))
	} else if need > 0 {
		rest, err := prefer(ctx, plugin, chosen, free, c.Units)
		if err != nil {
			return err
		}
		chosen = append(chosen, rest...)
	}
	reply, err := plugin.Allocate(ctx, &deviceplugin.AllocateRequest{
		ContainerRequests: []*deviceplugin.ContainerAllocateRequest{{DevicesIds: chosen}},
	})
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c.IDs, c.Env, c.Mounts = chosen, reply.GetContainerResponses()[0].GetEnvs(), reply.GetContainerResponses()[0].GetMounts()
	return nil
}

// prefer asks the plugin, and fills up with whatever is free.
func prefer(ctx context.Context, plugin deviceplugin.DevicePluginClient, chosen []string, free map[string]struct{}, units int) ([]string, error) {
	need := units - len(chosen)
	var preferred []string
	if need < len(free) { // as kubelet: where all are needed there is nothing to prefer
		reply, err := plugin.GetPreferredAllocation(ctx, &deviceplugin.PreferredAllocationRequest{
			ContainerRequests: []*deviceplugin.ContainerPreferredAllocationRequest{{
				AvailableDeviceIDs: append(ordered(free), chosen...), MustIncludeDeviceIDs: chosen, AllocationSize: int32(units),
			}},
		})
		if err != nil {
			return nil, err
		}
		preferred = reply.GetContainerResponses()[0].GetDeviceIDs()
	}
	var rest []string
	for _, id := range append(preferred, ordered(free)...) {
		if _, ok := free[id]; ok && len(rest) < need && !slices.Contains(rest, id) {
			rest = append(rest, id)
		}
	}
	return rest, nil
}

// StartContainers calls PreStartContainer for each container, as before every start.
func (k *Kubelet) StartContainers(ctx context.Context, pod *Pod) error {
	k.mu.Lock()
	plugin := k.plugin
	k.mu.Unlock()
	for _, c := range pod.Containers {
		if _, err := plugin.PreStartContainer(ctx, &deviceplugin.PreStartContainerRequest{DevicesIds: c.IDs}); err != nil {
			return err
		}
	}
	return nil
}

// Remove forgets a pod and frees its devices.
func (k *Kubelet) Remove(pod *Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods = slices.DeleteFunc(k.pods, func(p *Pod) bool { return p == pod })
}

func sizeOf(list *deviceplugin.ListAndWatchResponse) int { return proto.Size(list) }
