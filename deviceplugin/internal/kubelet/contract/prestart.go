package contract

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testPreStart(s *harness) {
	p := s.startPlugin(3, allOptions())
	pod := s.pod("pod", 2)
	type moment struct {
		runs bool
		held map[string][]string
		err  error
	}
	moments := make(chan moment, 10)
	p.respondWith(responses{started: func(call) error {
		var m moment
		_, m.runs = s.Pods.Inspect(pod.Name, "a")
		m.held, m.err = s.list(pod)
		moments <- m
		return nil
	}})
	s.startPod(pod)
	require.Equal(s.t, []string{options, watch, prefer, allocate, preStart}, methods(p.recorded()))
	ids := p.recorded(allocate)[0].ids
	known := moment{held: map[string][]string{"a": ids}}
	require.Equal(s.t, known, <-moments)
	require.Equal(s.t, ids, p.recorded(preStart)[0].ids)

	s.Pods.Kill(pod.Name, "a")
	require.Equal(s.t, known, <-moments, "as at the first start")
	require.Len(s.t, p.recorded(allocate), 1)
	require.Equal(s.t, ids, p.recorded(preStart)[1].ids)
}

func testPreStartRetried(s *harness) {
	p := s.startPlugin(3, allOptions())
	var failed atomic.Bool
	p.respondWith(responses{started: func(call) error {
		if failed.CompareAndSwap(false, true) {
			return errors.New("not yet")
		}
		return nil
	}})
	s.startPod(s.pod("pod", 2))
	calls := p.recorded(prefer, allocate, preStart)
	require.Equal(s.t, []string{prefer, allocate, preStart, preStart}, methods(calls))
	require.Equal(s.t, calls[2], calls[3])
}

func testKubeletRestart(s *harness) {
	p := s.startPlugin(5, allOptions())
	pod := s.startPod(s.pod("pod", 2))
	before := s.mustList(pod)
	s.Restart()
	p.awaitSocketRemoved()
	s.eventually(func() bool {
		held, err := s.list(pod)
		return err == nil && len(held) > 0
	}, "kubelet lists its pods again")
	require.Equal(s.t, before, s.mustList(pod), "listed before the plugin has registered")
	require.Empty(s.t, s.allocatable())
	require.ErrorContains(s.t, s.Pods.Start(s.pod("early", 1)),
		"no healthy devices present; cannot allocate unhealthy devices "+s.resource)

	p.stop()
	p.serve()
	p.register()
	require.Equal(s.t, []string{options, watch, options, watch}, methods(p.recorded(options, watch)))
	later := s.startPod(s.pod("later", 3))
	require.Equal(s.t, without(p.healthy(), before["a"]...), s.mustList(later)["a"])
	require.Equal(s.t, before, s.mustList(pod))
	require.Equal(s.t, []string{allocate, allocate}, methods(p.recorded(allocate)), "one call per pod")
	s.Pods.Kill(pod.Name, "a")
	starts := p.recorded(preStart)
	require.Equal(s.t, before["a"], starts[len(starts)-1].ids)
	require.Len(s.t, p.recorded(allocate), 2)
	s.awaitNodeStatus(5, 5)
}

func testStartBeforeRegistration(s *harness) {
	p := s.startPlugin(3, allOptions())
	pod := s.startPod(s.pod("pod", 2))
	before := s.mustList(pod)
	s.Restart()
	p.awaitSocketRemoved()
	s.Pods.Kill(pod.Name, "a")
	require.Len(s.t, p.recorded(preStart), 1, "the first start")
	view, _ := s.Pods.Inspect(pod.Name, "a")
	require.Equal(s.t, before["a"], splitIDs(view.Environment[idsVariable]), "the allocated ids")
	p.stop()
	p.serve()
	p.register()
	require.Equal(s.t, before, s.mustList(pod))
}

func testRateLimit(s *harness) {
	s.startPlugin(1, allOptions())
	pod := s.startPod(s.pod("pod", 1))
	want := s.mustList(pod)
	var asking sync.WaitGroup
	for range 25 {
		asking.Go(func() {
			got, err := s.get(pod)
			assert.NoError(s.t, err)
			assert.Equal(s.t, want, got)
		})
	}
	asking.Wait()
}

func splitIDs(ids string) []string { return strings.Split(ids, ",") }
