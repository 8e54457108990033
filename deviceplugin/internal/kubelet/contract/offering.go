package contract

import (
	"path/filepath"

	"github.com/stretchr/testify/require"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func registers(s *stage) {
	p := s.probe(6, everything())
	require.Equal(s.t, []string{options, watch}, kinds(p.asked()), "what a plugin offers is asked of it, not read in its request")
	require.Equal(s.t, p.healthy(), s.served())
	s.reports(6, 6)
}

func refusesNonsense(s *stage) {
	p := s.probe(1, everything())
	require.ErrorContains(s.t, s.apply("v1", s.resource, p), "not supported")
	require.ErrorContains(s.t, s.apply(deviceplugin.Version, "gpu-mem", p), "invalid")
	require.Equal(s.t, p.healthy(), s.served(), "the one that is there is not disturbed")
}

func unhealthy(s *stage) {
	p := s.probe(4, everything())
	first := s.runs(s.pod("first", 1))
	ill := s.held(first)["a"][0]
	p.set(false, ill)
	s.eventually(func() bool { return len(s.served()) == 3 }, "it can not be handed out")
	s.reports(4, 3)
	require.Equal(s.t, []string{ill}, s.held(first)["a"], "whoever holds it keeps it")

	s.Pods.End(first.Name)
	require.ErrorContains(s.t, s.Pods.Start(s.pod("large", 4)), "Requested: 4, Available: 3")
	rest := s.runs(s.pod("rest", 3))
	require.Equal(s.t, p.healthy(), s.held(rest)["a"])

	p.set(true, ill)
	s.eventually(func() bool { return len(s.served()) == 4 }, "it can be handed out again")
	last := s.runs(s.pod("last", 1))
	require.Equal(s.t, []string{ill}, s.held(last)["a"])
	s.reports(4, 4)
}

func pluginEnds(s *stage) {
	p := s.probe(3, everything())
	holds := s.runs(s.pod("holds", 1))
	before := s.held(holds)
	p.dies()
	s.eventually(func() bool { return len(s.served()) == 0 }, "nothing can be handed out")
	require.ErrorContains(s.t, s.Pods.Start(s.pod("late", 1)), "no healthy devices present; cannot allocate unhealthy devices "+s.resource)
	require.Equal(s.t, before, s.held(holds), "its pods go on")
	s.reports(3, 0)
}

func pluginComesBack(s *stage) {
	p := s.probe(3, everything())
	holds := s.runs(s.pod("holds", 1))
	before := s.held(holds)
	p.dies()
	s.eventually(func() bool { return len(s.served()) == 0 }, "nothing can be handed out")
	p.serve()
	p.register()
	require.Len(s.t, p.asked(watch), 2)
	require.Equal(s.t, before, s.held(holds))
	require.Len(s.t, p.asked(allocate), 1, "what is held is not allocated again")
	more := s.runs(s.pod("more", 2))
	require.Equal(s.t, without(p.healthy(), before["a"]...), s.held(more)["a"])
}

func takenOver(s *stage) {
	first := s.probe(2, everything())
	second := s.probeAt(filepath.Base(s.resource)+"-2.sock", 3, everything())
	s.runs(s.pod("pod", 1))
	require.Empty(s.t, first.asked(allocate))
	require.Len(s.t, second.asked(allocate), 1)

	first.dies()
	s.eventually(func() bool { return !second.heard() }, "kubelet takes the end of the first for that of the second")
	s.eventually(func() bool { return len(s.served()) == 0 }, "and hands nothing out")
	second.register()
	require.True(s.t, second.heard())
	require.Len(s.t, s.held(s.runs(s.pod("later", 2)))["a"], 2)
}

func neverOffered(s *stage) {
	pod := s.runs(s.pod("unknown", 2))
	require.Empty(s.t, s.held(pod))
	require.Empty(s.t, s.served())
}
