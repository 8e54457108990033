package contract

import (
	"path/filepath"

	"github.com/stretchr/testify/require"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func testRegistration(s *harness) {
	p := s.startPlugin(6, allOptions())
	require.Equal(s.t, []string{options, watch}, methods(p.recorded()),
		"kubelet asks the plugin for its options and ignores those of the request")
	require.Equal(s.t, p.healthy(), s.allocatable())
	s.awaitNodeStatus(6, 6)
}

func testInvalidRegistration(s *harness) {
	p := s.startPlugin(1, allOptions())
	require.ErrorContains(s.t, s.tryRegister("v1", s.resource, p), "not supported")
	require.ErrorContains(s.t, s.tryRegister(pluginapi.Version, "gpu-mem", p), "invalid")
	require.Equal(s.t, p.healthy(), s.allocatable(), "the registered plugin is not affected")
}

func testUnhealthyDevice(s *harness) {
	p := s.startPlugin(4, allOptions())
	first := s.startPod(s.pod("first", 1))
	id := s.mustList(first)["a"][0]
	p.setHealth(false, id)
	s.eventually(func() bool { return len(s.allocatable()) == 3 }, "it cannot be allocated")
	s.awaitNodeStatus(4, 3)
	require.Equal(s.t, []string{id}, s.mustList(first)["a"], "its holder keeps it")

	s.Pods.End(first.Name)
	require.ErrorContains(s.t, s.Pods.Start(s.pod("large", 4)), "Requested: 4, Available: 3")
	rest := s.startPod(s.pod("rest", 3))
	require.Equal(s.t, p.healthy(), s.mustList(rest)["a"])

	p.setHealth(true, id)
	s.eventually(func() bool { return len(s.allocatable()) == 4 }, "it can be allocated again")
	last := s.startPod(s.pod("last", 1))
	require.Equal(s.t, []string{id}, s.mustList(last)["a"])
	s.awaitNodeStatus(4, 4)
}

func testPluginStops(s *harness) {
	p := s.startPlugin(3, allOptions())
	holds := s.startPod(s.pod("holds", 1))
	before := s.mustList(holds)
	p.stop()
	s.eventually(func() bool { return len(s.allocatable()) == 0 }, "nothing can be allocated")
	require.ErrorContains(s.t, s.Pods.Start(s.pod("late", 1)),
		"no healthy devices present; cannot allocate unhealthy devices "+s.resource)
	require.Equal(s.t, before, s.mustList(holds), "its pods keep running")
	s.awaitNodeStatus(3, 0)
}

func testPluginRestarts(s *harness) {
	p := s.startPlugin(3, allOptions())
	holds := s.startPod(s.pod("holds", 1))
	before := s.mustList(holds)
	p.stop()
	s.eventually(func() bool { return len(s.allocatable()) == 0 }, "nothing can be allocated")
	p.serve()
	p.register()
	require.Len(s.t, p.recorded(watch), 2)
	require.Equal(s.t, before, s.mustList(holds))
	require.Len(s.t, p.recorded(allocate), 1, "held ids are not allocated again")
	more := s.startPod(s.pod("more", 2))
	require.Equal(s.t, without(p.healthy(), before["a"]...), s.mustList(more)["a"])
}

func testSecondPlugin(s *harness) {
	first := s.startPlugin(2, allOptions())
	second := s.startPluginAt(filepath.Base(s.resource)+"-2.sock", 3, allOptions())
	s.startPod(s.pod("pod", 1))
	require.Empty(s.t, first.recorded(allocate))
	require.Len(s.t, second.recorded(allocate), 1)

	first.stop()
	s.eventually(func() bool { return !second.connected() },
		"kubelet attributes the end of the first plugin to the second")
	s.eventually(func() bool { return len(s.allocatable()) == 0 }, "nothing can be allocated")
	second.register()
	require.True(s.t, second.connected())
	require.Len(s.t, s.mustList(s.startPod(s.pod("later", 2)))["a"], 2)
}

func testUnknownResource(s *harness) {
	pod := s.startPod(s.pod("unknown", 2))
	require.Empty(s.t, s.mustList(pod))
	require.Empty(s.t, s.allocatable())
}
