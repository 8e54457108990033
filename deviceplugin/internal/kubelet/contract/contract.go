package contract

import (
	"fmt"
	"os"
	"testing"
)

// Kubelet is a kubelet under test and its node. Its functions fail the test on unexpected errors.
type Kubelet struct {
	// PluginDir is the directory of kubelet's registration socket and of plugin sockets. PodResources is the socket
	// of kubelet's PodResources API.
	PluginDir, PodResources string
	// Pods are the pods of the kubelet.
	Pods Pods
	// NodeStatus returns the capacity and allocatable units of a resource in the node's status.
	NodeStatus func(resource string) (capacity, allocatable int)
	// Restart kills and restarts kubelet. Containers keep running. It returns before kubelet serves.
	Restart func()
	// LoseCheckpoint restarts kubelet like Restart, after a fault of its checkpoint file.
	LoseCheckpoint func(CheckpointFault)
}

// CheckpointFault damages kubelet's checkpoint file.
type CheckpointFault func(file string) error

// Pods runs pods on a kubelet. App containers sleep; init containers exit at once.
type Pods interface {
	// Start runs a pod. It returns once the containers run, or with kubelet's reason for rejecting the pod.
	Start(Pod) error
	// End deletes a pod. It returns once kubelet has removed it.
	End(pod string)
	// EndAsync deletes a pod without waiting, so kubelet may remove the pod while it allocates for the next one.
	EndAsync(pod string)
	// Kill kills a container and returns once it runs again.
	Kill(pod, container string)
	// Inspect returns the View of a running container. It returns false if the container does not run.
	Inspect(pod, container string) (View, bool)
}

// Namespace is the namespace of all pods.
const Namespace = "default"

// Pod is a pod that is bound to the node without a scheduler.
type Pod struct {
	Name       string
	Resource   string
	Containers []Container
}

// Container requests units of its pod's resource. Init containers and sidecars precede app containers.
type Container struct {
	Name  string
	Units int
	Kind  Kind
}

// Kind is the type of a container.
type Kind int

// The types of containers.
const (
	App     Kind = iota
	Init         // ends before the next container starts
	Sidecar      // an init container that keeps running
)

// View is a container's environment and files.
type View struct {
	Environment map[string]string
	// Files are the names in the directory that the plugin mounts at MountPath.
	Files []string
}

// MountPath is the path of the directory that the test plugin mounts.
const MountPath = "/contract"

// Run runs the contract's cases against a kubelet. open returns the kubelet for one case. Cases run in parallel, each
// with its own resource and plugin. Cases that block or restart kubelet run alone at the end.
func Run(t *testing.T, open func(t *testing.T) Kubelet) {
	number := 0
	each := func(t *testing.T, cases map[string]func(*harness), parallel bool) {
		for name, test := range cases {
			number++
			resource := fmt.Sprintf("contract.test/units-%d", number)
			t.Run(name, func(t *testing.T) {
				if parallel {
					t.Parallel()
				}
				test(&harness{t: t, Kubelet: open(t), resource: resource})
			})
		}
	}
	t.Run("while kubelet runs", func(t *testing.T) {
		each(t, map[string]func(*harness){
			"a registered plugin's devices are the node's capacity":                       testRegistration,
			"an invalid registration is rejected":                                         testInvalidRegistration,
			"an unhealthy device is not allocatable, counts as capacity, and may recover": testUnhealthyDevice,
			"a plugin that stops leaves capacity and no allocatable devices":              testPluginStops,
			"a plugin that dies may register again at once":                               testPluginRestarts,
			"a plugin that replaces another must register again after the other ends":     testSecondPlugin,
			"Allocate is called once per container with the requested number of ids":      testAllocate,
			"Allocate's response reaches the container":                                   testContainerView,
			"an id has one holder at a time":                                              testOneHolder,
			"GetPreferredAllocation precedes Allocate, which gets the preferred ids":      testPreferred,
			"GetPreferredAllocation is called even if only one choice exists":             testPreferredWithoutChoice,
			"unavailable preferred ids are ignored and missing ids are added":             testPreferredOverruled,
			"a plugin without options gets neither GetPreferredAllocation nor " +
				"PreStartContainer": testNoOptions,
			"each id of an init container is reused by one container":                     testInitContainers,
			"a sidecar keeps its ids":                                                     testSidecar,
			"PreStartContainer precedes each start, when PodResources lists the ids":      testPreStart,
			"a failed PreStartContainer is retried":                                       testPreStartRetried,
			"a pod that Allocate rejects fails with the plugin's error and holds nothing": testAllocateRejected,
			"a pod whose GetPreferredAllocation fails is rejected":                        testPreferredFails,
			"a resource without a plugin is ignored":                                      testUnknownResource,
			"many concurrent requests succeed with retries":                               testRateLimit,
		}, true)
	})
	t.Run("kubelet allocates slowly", func(t *testing.T) { // which blocks other allocations
		each(t, map[string]func(*harness){
			"a List request after the end of a pod makes kubelet lose the allocation in progress": testListDuringAllocate,
			"a Get request does not make kubelet lose it":                                         testGetDuringAllocate,
		}, false)
	})
	t.Run("kubelet restarts", func(t *testing.T) {
		each(t, map[string]func(*harness){
			"plugins register again and containers keep their ids without another Allocate": testKubeletRestart,
			"a container that starts before its plugin registers gets no " +
				"PreStartContainer": testStartBeforeRegistration,
			"with a truncated checkpoint, kubelet offers the ids of running containers": func(s *harness) {
				testCheckpointLost(s, func(file string) error { return os.Truncate(file, 0) })
			},
			"with a deleted checkpoint, it does too": func(s *harness) { testCheckpointLost(s, os.Remove) },
			"with a checkpoint of a wrong checksum, it does too": func(s *harness) {
				testCheckpointLost(s, flipByte)
			},
		}, false)
	})
}
