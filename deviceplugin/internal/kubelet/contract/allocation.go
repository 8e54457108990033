package contract

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/stretchr/testify/require"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func testAllocate(s *harness) {
	p := s.startPlugin(6, allOptions())
	pod := s.startPod(s.pod("pod", 2, 3))
	calls := p.recorded(allocate)
	require.Len(s.t, calls, 2)
	require.Len(s.t, calls[0].ids, 2)
	require.Len(s.t, calls[1].ids, 3)
	require.Subset(s.t, p.healthy(), calls[0].ids)
	require.Subset(s.t, without(p.healthy(), calls[0].ids...), calls[1].ids)

	want := map[string][]string{"a": calls[0].ids, "b": calls[1].ids}
	require.Equal(s.t, want, s.mustList(pod))
	got, err := s.get(pod)
	require.NoError(s.t, err)
	require.Equal(s.t, want, got)
}

func testContainerView(s *harness) {
	p := s.startPlugin(3, allOptions())
	pod := s.startPod(s.pod("pod", 2))
	view, runs := s.Pods.Inspect(pod.Name, "a")
	require.True(s.t, runs)
	require.Equal(s.t, p.recorded(allocate)[0].ids, splitIDs(view.Environment[idsVariable]))
	require.Equal(s.t, []string{filepath.Base(s.resource)}, view.Files)
}

func testOneHolder(s *harness) {
	p := s.startPlugin(4, allOptions())
	first := s.startPod(s.pod("first", 3))
	require.ErrorContains(s.t, s.Pods.Start(s.pod("large", 2)),
		"requested number of devices unavailable for "+s.resource+". Requested: 2, Available: 1")
	require.Len(s.t, p.recorded(allocate), 1, "kubelet rejects the pod without calling the plugin")
	second := s.startPod(s.pod("second", 1))
	require.Equal(s.t, without(p.healthy(), s.mustList(first)["a"]...), s.mustList(second)["a"])

	freed := s.mustList(first)["a"]
	s.Pods.End(first.Name)
	require.Empty(s.t, s.mustList(first))
	_, err := s.get(first)
	require.ErrorContains(s.t, err, "not found")
	third := s.startPod(s.pod("third", 3))
	require.Equal(s.t, freed, s.mustList(third)["a"])
}

func testPreferred(s *harness) {
	p := s.startPlugin(6, allOptions())
	p.respondWith(
		responses{preferred: func(c call) ([]string, error) { return c.available[len(c.available)-c.size:], nil }})
	all := p.healthy()
	pod := s.startPod(s.pod("pod", 2, 1))
	require.Equal(s.t, []call{
		{method: prefer, available: all, size: 2}, {method: allocate, ids: all[4:]},
		{method: prefer, available: all[:4], size: 1}, {method: allocate, ids: all[3:4]},
	}, p.recorded(prefer, allocate))
	require.Equal(s.t, map[string][]string{"a": all[4:], "b": all[3:4]}, s.mustList(pod))
}

func testPreferredWithoutChoice(s *harness) {
	p := s.startPlugin(2, allOptions())
	s.startPod(s.pod("pod", 2))
	require.Equal(s.t, []call{
		{method: prefer, available: p.healthy(), size: 2}, {method: allocate, ids: p.healthy()},
	}, p.recorded(prefer, allocate))
}

func testPreferredOverruled(s *harness) {
	p := s.startPlugin(5, allOptions())
	all := p.healthy()
	p.respondWith(responses{preferred: func(call) ([]string, error) { return all[4:], nil }})
	first := s.startPod(s.pod("first", 1))
	require.Equal(s.t, all[4:], s.mustList(first)["a"])
	p.respondWith(responses{preferred: func(call) ([]string, error) {
		return []string{all[4], "GPU-unknown/0",
			all[3]}, nil
	}})
	second := s.startPod(s.pod("second", 2))
	require.Subset(s.t, all[:4], s.mustList(second)["a"])
	require.Len(s.t, s.mustList(second)["a"], 2)
	require.Contains(s.t, s.mustList(second)["a"], all[3])
}

func testNoOptions(s *harness) {
	p := s.startPlugin(3, &pluginapi.DevicePluginOptions{})
	pod := s.startPod(s.pod("pod", 2))
	require.Equal(s.t, []string{options, watch, allocate}, methods(p.recorded()))
	require.Len(s.t, s.mustList(pod)["a"], 2)
}

func testInitContainers(s *harness) {
	p := s.startPlugin(8, allOptions())
	pod := s.pod("pod", 3, 3)
	pod.Containers = append([]Container{{
		Name:  "first",
		Units: 2,
		Kind:  Init,
	}, {
		Name:  "second",
		Units: 4,
		Kind:  Init,
	}}, pod.Containers...)
	s.startPod(pod)
	calls := p.recorded(allocate)
	require.Len(s.t, calls, 4)
	first := calls[0].ids
	second := calls[1].ids
	a := calls[2].ids
	b := calls[3].ids
	require.Subset(s.t, second, first, "the second init container reuses the ids of the first")
	require.Subset(s.t, second, a)
	left := without(second, a...)
	require.Subset(s.t, b, left, "the first app container reuses the others")
	require.Empty(s.t, without(a, without(a, b...)...), "no id has two holders")

	request := p.recorded(prefer)
	require.Len(s.t, request, 3, "the first app container needs no new ids")
	require.Empty(s.t, request[0].mustInclude)
	require.Equal(s.t, first, request[1].mustInclude)
	require.Equal(s.t, p.healthy(), request[1].available, "MustInclude ids are available")
	require.Equal(s.t, left, request[2].mustInclude)
	require.Equal(s.t, without(p.healthy(), a...), request[2].available)
	require.Equal(s.t, 3, request[2].size, "MustInclude ids count towards the size")

	require.Equal(s.t, map[string][]string{"a": a, "b": b}, s.mustList(pod), "init containers are not listed")
	var started [][]string
	for _, c := range p.recorded(preStart) {
		started = append(started, c.ids)
	}
	require.Equal(s.t, [][]string{first, second, a, b}, started)
}

func testSidecar(s *harness) {
	p := s.startPlugin(5, allOptions())
	pod := s.pod("pod", 2)
	pod.Containers = append([]Container{{Name: "sidecar", Units: 2, Kind: Sidecar}}, pod.Containers...)
	s.startPod(pod)
	held := s.mustList(pod)
	require.Len(s.t, held["sidecar"], 2)
	require.Len(s.t, held["a"], 2)
	require.Len(s.t, slices.Compact(union(held)), 4, "each container has its own ids")
	require.Subset(s.t, p.healthy(), union(held))
}

// testListDuringAllocate reproduces kubernetes/kubernetes#137534, the reason for allocations.Tracker.InUse and its
// listGate. Once kubelet has fixed it, this case fails and both can be removed.
func testListDuringAllocate(s *harness) {
	victim, next := s.duringAllocate(func(ended Pod) { _, _ = s.list(ended) }) // a List request
	require.Equal(s.t, victim, next, "two containers hold the same ids")
}

// testGetDuringAllocate shows why the plugin uses Get when a container starts.
func testGetDuringAllocate(s *harness) {
	victim, next := s.duringAllocate(func(ended Pod) { _, _ = s.get(ended) })
	require.Equal(s.t, next, without(next, victim...), "no other container holds the ids")
}

// duringAllocate runs event while kubelet allocates for a pod, the victim, and another pod has just ended. It returns
// the ids of the victim and of the next pod, whose plugin prefers the victim's ids.
func (s *harness) duringAllocate(event func(ended Pod)) (victim, next []string) {
	s.t.Helper()
	p := s.startPlugin(4, allOptions())
	first := s.startPod(s.pod("first", 2))
	p.respondWith(responses{allocated: func(call) error {
		s.Pods.End(first.Name)
		event(first)
		return nil
	}})
	s.Pods.EndAsync(first.Name)
	victim = s.mustList(s.startPod(s.pod("victim", 2)))["a"]
	require.Len(s.t, victim, 2)
	p.respondWith(responses{preferred: func(call) ([]string, error) { return victim, nil }})
	next = s.mustList(s.startPod(s.pod("next", 2)))["a"]
	require.Len(s.t, next, 2)
	return victim, next
}

func testAllocateRejected(s *harness) {
	p := s.startPlugin(4, allOptions())
	p.respondWith(responses{allocated: func(c call) error {
		if len(c.ids) == 3 {
			return errors.New("3 units are not supported")
		}
		return nil
	}})
	pod := s.pod("pod", 1, 3)
	require.ErrorContains(s.t, s.Pods.Start(pod), "3 units are not supported")
	require.Len(s.t, p.recorded(allocate), 2)
	require.Empty(s.t, p.recorded(preStart))
	require.Empty(s.t, s.mustList(pod))
	all := s.startPod(s.pod("all", 4))
	require.Equal(s.t, p.healthy(), s.mustList(all)["a"])
}

func testPreferredFails(s *harness) {
	p := s.startPlugin(2, allOptions())
	p.respondWith(responses{preferred: func(call) ([]string, error) { return nil, errors.New("no preference") }})
	require.ErrorContains(s.t, s.Pods.Start(s.pod("pod", 1)), "no preference")
	require.Empty(s.t, p.recorded(allocate))
}
