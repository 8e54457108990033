package contract

import (
	"fmt"
	"testing"
)

// Kubelet is a kubelet on trial, and the node that it runs. What goes wrong without being said here fails the test.
type Kubelet struct {
	// PluginDir is the folder where it and its device plugins listen, Resources the socket where it says who holds what.
	PluginDir, PodResources string
	// Pods are its pods.
	Pods Pods
	// NodeStatus is what the node's status says of a resource.
	NodeStatus func(resource string) (capacity, allocatable int)
	// Restart kills kubelet and starts it again; its containers go on. It returns before kubelet serves.
	Restart func()
}

// Pods are what a kubelet runs. Their containers do nothing, and init containers end at once.
type Pods interface {
	// Start has a pod run, and returns once its containers do, or kubelet's reason to refuse it.
	Start(Pod) error
	// End ends a pod, and returns once kubelet is through with it.
	End(pod string)
	// EndAsync begins to end a pod, and returns at once. Kubelet can be through with it once the next pod is being allocated.
	EndAsync(pod string)
	// Kill kills a container, and returns once it runs again.
	Kill(pod, container string)
	// Inspect looks into a container, if that runs.
	Inspect(pod, container string) (View, bool)
}

// Namespace is where all pods are.
const Namespace = "default"

// Pod is a pod, bound to the node without a scheduler's leave.
type Pod struct {
	Name       string
	Resource   string
	Containers []Container
}

// Container asks for units of its pod's resource. Init containers come before all others.
type Container struct {
	Name  string
	Units int
	Kind  Kind
}

// Kind is when a container runs.
type Kind int

// The kinds of containers.
const (
	App     Kind = iota
	Init         // ends before the next container starts
	Sidecar      // an init container that goes on
)

// View is what a container finds.
type View struct {
	Environment map[string]string
	// Files are the names in the folder that the plugin had mounted, at Folder.
	Files []string
}

// Folder is where the plugin of these tests has a folder mounted.
const Folder = "/contract"

// Run holds a kubelet to the contract. open gives it to one case; cases run beside one another, each with a resource and a
// plugin of its own, but those that hold kubelet up or restart it run alone, and last.
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
			"a plugin's devices are the node's capacity, once it has registered":            testRegistration,
			"a registration that makes no sense is refused":                                 testInvalidRegistration,
			"an unhealthy device is not allocatable, stays capacity, and may come back":     testUnhealthyDevice,
			"a plugin that ends leaves capacity, and nothing to allocate":                   testPluginStops,
			"a plugin that dies may come back at once":                                      testPluginRestarts,
			"a plugin takes another's place, and has to register again once that ends":      testSecondPlugin,
			"Allocate comes once a container, with as many ids as it asks for":              testAllocate,
			"what Allocate answers reaches the container":                                   testContainerView,
			"an id has one holder at a time":                                                testOneHolder,
			"preferred ids are asked for before Allocate, and are the ones allocated":       testPreferred,
			"preferred ids are asked for where there is no choice left":                     testPreferredWithoutChoice,
			"preferred ids that are not free are passed over, and what they lack is added":  testPreferredOverruled,
			"a plugin that offers no preference and no start is asked for neither":          testNoOptions,
			"init containers hand their ids on, each to one container":                      testInitContainers,
			"a sidecar keeps its ids":                                                       testSidecar,
			"PreStartContainer comes before each start, when it is known whose the ids are": testPreStart,
			"a start that the plugin fails is tried again":                                  testPreStartRetried,
			"a pod that the plugin refuses fails with its words, and holds nothing":         testAllocateRejected,
			"a pod whose preference fails is refused":                                       testPreferredFails,
			"a resource that no plugin ever offered is looked at by nobody":                 testUnknownResource,
			"many questions at once are all answered, if they are asked again":              testRateLimit,
		}, true)
	})
	t.Run("kubelet allocates slowly", func(t *testing.T) { // and does nothing else as long
		each(t, map[string]func(*harness){
			"what it is about to give away is forgotten where somebody lists just as a pod has ended": testListDuringAllocate,
			"it is not where somebody asks about one pod":                                             testGetDuringAllocate,
		}, false)
	})
	t.Run("kubelet restarts", func(t *testing.T) {
		each(t, map[string]func(*harness){
			"plugins register again and are asked anew; containers keep their ids and are not allocated again": testKubeletRestart,
			"a container that starts before its plugin has registered again is not announced":                  testStartBeforeRegistration,
		}, false)
	})
}
