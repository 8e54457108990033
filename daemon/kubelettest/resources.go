package kubelettest

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// List implements the PodResources API: one entry per id, no init containers.
func (k *Kubelet) List(
	context.Context, *podresources.ListPodResourcesRequest,
) (*podresources.ListPodResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failing["List"] {
		return nil, status.Error(codes.Unavailable, "not now")
	}
	k.recountIfStale()
	reply := &podresources.ListPodResourcesResponse{}
	for _, pod := range k.pods {
		reply.PodResources = append(reply.PodResources, k.podResources(pod))
	}
	return reply, nil
}

// Get implements the PodResources API for one pod.
func (k *Kubelet) Get(
	_ context.Context, r *podresources.GetPodResourcesRequest,
) (*podresources.GetPodResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failing["Get"] {
		return nil, status.Error(codes.Unimplemented, "unknown method Get")
	}
	for _, pod := range k.pods {
		if pod.Namespace == r.GetPodNamespace() && pod.Name == r.GetPodName() {
			return &podresources.GetPodResourcesResponse{PodResources: k.podResources(pod)}, nil
		}
	}
	return nil, fmt.Errorf("pod %s in namespace %s not found", r.GetPodName(), r.GetPodNamespace())
}

func (k *Kubelet) podResources(pod *Pod) *podresources.PodResources {
	result := &podresources.PodResources{Namespace: pod.Namespace, Name: pod.Name}
	for _, c := range pod.Containers {
		if c.Init {
			continue
		}
		entry := &podresources.ContainerResources{Name: c.Name}
		for _, id := range c.IDs {
			entry.Devices = append(entry.Devices, &podresources.ContainerDevices{
				ResourceName: k.resource,
				DeviceIds:    []string{id},
			})
		}
		result.Containers = append(result.Containers, entry)
	}
	return result
}

// GetAllocatableResources implements the PodResources API: healthy devices of a registered plugin.
func (k *Kubelet) GetAllocatableResources(
	context.Context, *podresources.AllocatableResourcesRequest,
) (*podresources.AllocatableResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	reply := &podresources.AllocatableResourcesResponse{}
	for _, id := range k.healthy() {
		reply.Devices = append(reply.Devices, &podresources.ContainerDevices{
			ResourceName: k.resource,
			DeviceIds:    []string{id},
		})
	}
	return reply, nil
}
