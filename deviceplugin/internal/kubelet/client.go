package kubelet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// maxReply bounds the size of kubelet's responses, in bytes. Kubelet's own client has the same limit.
const maxReply = 16 << 20

// requestTimeout bounds one request.
const requestTimeout = 2 * time.Second

// retryPolicy repeats a call that kubelet rejected with ResourceExhausted. Kubelet's rate limit is 100 calls a second
// with a burst of 10, shared by all clients, and many pods of a node can start at the same time.
const retryPolicy = `{"methodConfig": [{"name": [{"service": "v1.PodResourcesLister"}], "retryPolicy": {
	"maxAttempts": 5, "initialBackoff": "0.02s", "maxBackoff": "0.3s", "backoffMultiplier": 2,
	"retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}}]}`

// ContainerDevices are the device ids of one resource that a container holds.
type ContainerDevices struct {
	Namespace, Pod, Container string
	// IDs are sorted.
	IDs []string
}

// PodName is the namespace and name of a pod.
type PodName struct{ Namespace, Name string }

// Listing is kubelet's answer to a List request.
type Listing struct {
	// Devices are the containers that hold devices of the resource.
	Devices []ContainerDevices
	// Pods are all pods that kubelet knows, with or without devices.
	Pods []PodName
}

// Client reads one resource's devices from kubelet's PodResources API.
type Client struct {
	resource   string
	connection *grpc.ClientConn
	lister     podresources.PodResourcesListerClient
}

// Dial creates a Client. It does not wait for kubelet; the Client reconnects when the connection breaks.
func Dial(socket, resource string) (*Client, error) {
	connection, err := dial(socket, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReply)),
		grpc.WithDefaultServiceConfig(retryPolicy))
	if err != nil {
		return nil, err
	}
	return &Client{
		resource:   resource,
		connection: connection,
		lister:     podresources.NewPodResourcesListerClient(connection),
	}, nil
}

// Close closes the connection.
func (c *Client) Close() error { return c.connection.Close() }

// List returns the pods that kubelet knows, and the containers that hold devices of the resource.
func (c *Client) List(ctx context.Context) (Listing, error) {
	reply, err := c.lister.List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return Listing{}, fmt.Errorf("listing pod resources from kubelet: %w", err)
	}
	var listing Listing
	for _, pod := range reply.GetPodResources() {
		listing.Devices = append(listing.Devices, c.containerDevices(pod)...)
		listing.Pods = append(listing.Pods, PodName{Namespace: pod.GetNamespace(), Name: pod.GetName()})
	}
	return listing, nil
}

// Get returns the containers of one pod that hold devices of the resource. It fails for kubelets before 1.34 and for
// pods that kubelet does not know.
func (c *Client) Get(ctx context.Context, namespace, pod string) ([]ContainerDevices, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	reply, err := c.lister.Get(ctx, &podresources.GetPodResourcesRequest{PodNamespace: namespace, PodName: pod})
	if err != nil {
		return nil, fmt.Errorf("getting the pod resources of %s/%s from kubelet: %w", namespace, pod, err)
	}
	return c.containerDevices(reply.GetPodResources()), nil
}

func (c *Client) containerDevices(pod *podresources.PodResources) []ContainerDevices {
	var containers []ContainerDevices
	for _, container := range pod.GetContainers() {
		if ids := c.deviceIDs(container.GetDevices()); len(ids) > 0 {
			containers = append(containers, ContainerDevices{
				Namespace: pod.GetNamespace(),
				Pod:       pod.GetName(),
				Container: container.GetName(),
				IDs:       ids,
			})
		}
	}
	return containers
}

// Allocatable returns the ids of the resource that a plugin currently advertises to kubelet as healthy.
func (c *Client) Allocatable(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	reply, err := c.lister.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
	if err != nil {
		return nil, fmt.Errorf("getting allocatable resources from kubelet: %w", err)
	}
	return c.deviceIDs(reply.GetDevices()), nil
}

func (c *Client) deviceIDs(all []*podresources.ContainerDevices) []string {
	var ids []string
	for _, devices := range all {
		if devices.GetResourceName() == c.resource {
			ids = append(ids, devices.GetDeviceIds()...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Register registers a device plugin with kubelet.
func Register(ctx context.Context, socket string, request *pluginapi.RegisterRequest) error {
	connection, err := dial(socket)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	if _, err := pluginapi.NewRegistrationClient(connection).Register(ctx, request); err != nil {
		return fmt.Errorf("registering %s with kubelet at %s: %w", request.GetResourceName(), socket, err)
	}
	return nil
}

func dial(socket string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	backoffConfig := backoff.DefaultConfig
	backoffConfig.BaseDelay = 100 * time.Millisecond
	backoffConfig.MaxDelay = time.Second // kubelet is local and restarts quickly
	connection, err := grpc.NewClient("unix://"+socket, append(options,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoffConfig, MinConnectTimeout: time.Second}))...)
	if err != nil {
		return nil, fmt.Errorf("connecting to kubelet at %s: %w", socket, err)
	}
	return connection, nil
}
