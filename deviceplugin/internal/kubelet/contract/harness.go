package contract

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
)

// timeout bounds waits. A real node reports its status only every ten seconds.
const timeout = time.Minute

// harness is the environment of one case: a kubelet and a resource of its own.
type harness struct {
	t *testing.T
	Kubelet
	resource string
	client   *kubelet.Client
}

// startPlugin starts a plugin with the given number of units and options, and registers it.
func (s *harness) startPlugin(units int, options *pluginapi.DevicePluginOptions) *fakePlugin {
	s.t.Helper()
	return s.startPluginAt(filepath.Base(s.resource)+".sock", units, options)
}

// startPluginAt is startPlugin with the given socket name.
func (s *harness) startPluginAt(socket string, units int, options *pluginapi.DevicePluginOptions) *fakePlugin {
	s.t.Helper()
	p := &fakePlugin{
		s:        s,
		socket:   socket,
		options:  options,
		devices:  map[string]bool{},
		changed:  make(chan struct{}),
		mountDir: s.t.TempDir(),
	}
	require.NoError(s.t, os.WriteFile(filepath.Join(p.mountDir, filepath.Base(s.resource)), nil, 0o600))
	for i := range units {
		p.devices[fmt.Sprintf("GPU-%s/%d", filepath.Base(s.resource), i)] = true
	}
	p.serve()
	s.t.Cleanup(func() { p.server.Stop() })
	p.register()
	return p
}

// pod returns a pod with app containers a, b, c, which request the given units.
func (s *harness) pod(name string, units ...int) Pod {
	pod := Pod{Name: name + "-" + filepath.Base(s.resource), Resource: s.resource}
	for i, n := range units {
		pod.Containers = append(pod.Containers, Container{Name: string(rune('a' + i)), Units: n})
	}
	return pod
}

// startPod starts a pod and fails the test if it does not run.
func (s *harness) startPod(pod Pod) Pod {
	s.t.Helper()
	require.NoError(s.t, s.Pods.Start(pod))
	return pod
}

func (s *harness) kubelet() *kubelet.Client {
	if s.client == nil {
		client, err := kubelet.Dial(s.PodResources, s.resource)
		require.NoError(s.t, err)
		s.t.Cleanup(func() { _ = client.Close() })
		s.client = client
	}
	return s.client
}

// allocatable returns the ids that kubelet can allocate; none while kubelet does not answer.
func (s *harness) allocatable() []string {
	ids, err := s.kubelet().Allocatable(s.t.Context())
	if err != nil {
		return nil
	}
	return ids
}

// mustList returns the ids that a pod holds, by container, from kubelet's List. An unknown pod holds none.
func (s *harness) mustList(pod Pod) map[string][]string {
	s.t.Helper()
	held, err := s.list(pod)
	require.NoError(s.t, err)
	return held
}

func (s *harness) list(pod Pod) (map[string][]string, error) {
	all, err := s.kubelet().List(s.t.Context())
	return byContainer(pod, all.Devices), err
}

// get returns the ids that a pod holds, by container, from kubelet's Get.
func (s *harness) get(pod Pod) (map[string][]string, error) {
	of, err := s.kubelet().Get(s.t.Context(), Namespace, pod.Name)
	return byContainer(pod, of), err
}

func byContainer(pod Pod, devices []kubelet.ContainerDevices) map[string][]string {
	held := map[string][]string{}
	for _, d := range devices {
		if d.Namespace == Namespace && d.Pod == pod.Name {
			held[d.Container] = d.IDs
		}
	}
	return held
}

func (s *harness) eventually(holds func() bool, what string) {
	s.t.Helper()
	require.Eventually(s.t, holds, timeout, 20*time.Millisecond, what)
}

// awaitNodeStatus waits until the node reports these units of the resource.
func (s *harness) awaitNodeStatus(capacity, allocatable int) {
	s.t.Helper()
	s.eventually(func() bool {
		c, a := s.NodeStatus(s.resource)
		return c == capacity && a == allocatable
	}, fmt.Sprintf("the node reports %d units, %d of them allocatable", capacity, allocatable))
}

func methods(calls []call) []string {
	var what []string
	for _, c := range calls {
		what = append(what, c.method)
	}
	return what
}

// without returns ids without those in others.
func without(ids []string, others ...string) []string {
	left := slices.Clone(ids)
	return slices.DeleteFunc(left, func(id string) bool { return slices.Contains(others, id) })
}

// union returns the ids of all containers.
func union(held map[string][]string) []string {
	return sorted(slices.Concat(slices.Collect(maps.Values(held))...))
}
