package contract

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func announcesStarts(s *stage) {
	p := s.probe(3, everything())
	pod := s.pod("pod", 2)
	type moment struct {
		runs bool
		held map[string][]string
		err  error
	}
	moments := make(chan moment, 10)
	p.answer(answers{started: func(call) error {
		var m moment
		_, m.runs = s.Pods.Look(pod.Name, "a")
		m.held, m.err = s.holds(pod)
		moments <- m
		return nil
	}})
	s.runs(pod)
	require.Equal(s.t, []string{options, watch, prefer, allocate, preStart}, kinds(p.asked()))
	ids := p.asked(allocate)[0].ids
	known := moment{held: map[string][]string{"a": ids}}
	require.Equal(s.t, known, <-moments)
	require.Equal(s.t, ids, p.asked(preStart)[0].ids)

	s.Pods.Kill(pod.Name, "a")
	require.Equal(s.t, known, <-moments, "as at the first start")
	require.Len(s.t, p.asked(allocate), 1)
	require.Equal(s.t, ids, p.asked(preStart)[1].ids)
}

func triesStartsAgain(s *stage) {
	p := s.probe(3, everything())
	var failed atomic.Bool
	p.answer(answers{started: func(call) error {
		if failed.CompareAndSwap(false, true) {
			return errors.New("not yet")
		}
		return nil
	}})
	s.runs(s.pod("pod", 2))
	calls := p.asked(prefer, allocate, preStart)
	require.Equal(s.t, []string{prefer, allocate, preStart, preStart}, kinds(calls))
	require.Equal(s.t, calls[2], calls[3])
}

func restarts(s *stage) {
	p := s.probe(5, everything())
	pod := s.runs(s.pod("pod", 2))
	before := s.held(pod)
	s.Restart()
	p.forgotten()
	s.eventually(func() bool {
		held, err := s.holds(pod)
		return err == nil && len(held) > 0
	}, "kubelet has its pods again")
	require.Equal(s.t, before, s.held(pod), "known before the plugin is")
	require.Empty(s.t, s.served())
	require.ErrorContains(s.t, s.Pods.Start(s.pod("early", 1)), "no healthy devices present; cannot allocate unhealthy devices "+s.resource)

	p.dies()
	p.serve()
	p.register()
	require.Equal(s.t, []string{options, watch, options, watch}, kinds(p.asked(options, watch)))
	later := s.runs(s.pod("later", 3))
	require.Equal(s.t, without(p.healthy(), before["a"]...), s.held(later)["a"])
	require.Equal(s.t, before, s.held(pod))
	require.Equal(s.t, []string{allocate, allocate}, kinds(p.asked(allocate)), "one a pod")
	s.Pods.Kill(pod.Name, "a")
	starts := p.asked(preStart)
	require.Equal(s.t, before["a"], starts[len(starts)-1].ids)
	require.Len(s.t, p.asked(allocate), 2)
	s.reports(5, 5)
}

func restartsUnannounced(s *stage) {
	p := s.probe(3, everything())
	pod := s.runs(s.pod("pod", 2))
	before := s.held(pod)
	s.Restart()
	p.forgotten()
	s.Pods.Kill(pod.Name, "a")
	require.Len(s.t, p.asked(preStart), 1, "the first start")
	inside, _ := s.Pods.Look(pod.Name, "a")
	require.Equal(s.t, before["a"], listed(inside.Environment[idsVariable]), "with what was allocated to it")
	p.dies()
	p.serve()
	p.register()
	require.Equal(s.t, before, s.held(pod))
}

func answersAll(s *stage) {
	s.probe(1, everything())
	pod := s.runs(s.pod("pod", 1))
	want := s.held(pod)
	var asking sync.WaitGroup
	for range 25 {
		asking.Go(func() {
			got, err := s.got(pod)
			assert.NoError(s.t, err)
			assert.Equal(s.t, want, got)
		})
	}
	asking.Wait()
}

func listed(ids string) []string { return strings.Split(ids, ",") }
