package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
)

// Two jobs of the same GPU in a probe of 2.5 s, with 0.1 GPU-seconds per step alone.
func TestProbedRate(t *testing.T) {
	for name, tc := range map[string]struct {
		steps   [2]int64
		held    [2]growth.Seconds
		clocked int
		rate    float64 // 0 if it is not known
	}{
		"as much as in turns":                 {[2]int64{12, 13}, [2]growth.Seconds{2.5, 2.5}, 2, 1},
		"more than in turns":                  {[2]int64{20, 20}, [2]growth.Seconds{2.5, 2.5}, 2, 1.6},
		"one waits for data":                  {[2]int64{6, 19}, [2]growth.Seconds{1.2, 2.5}, 2, 1},
		"too few steps to say":                {[2]int64{4, 12}, [2]growth.Seconds{2.5, 2.5}, 2, 0},
		"the other is not known, but like it": {[2]int64{12, 0}, [2]growth.Seconds{2.5, 2.5}, 1, .96},
		"the other still starts":              {[2]int64{25, 0}, [2]growth.Seconds{2.5, 0}, 1, 1},
		"nothing is known":                    {[2]int64{12, 12}, [2]growth.Seconds{2.5, 2.5}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(Config{})
			g := n.twoJobs(tc.clocked)
			n.probes["gpu"] = g.newProbe(n.now)
			n.compute(g, tc.steps, tc.held)
			rate, known := n.probedRate(g, n.probes["gpu"])
			require.Equal(t, tc.rate > 0, known)
			require.InDelta(t, tc.rate, rate, .01)
		})
	}
}

// twoJobs returns two jobs on one GPU with 0.1 GPU-seconds per step, of which some know that.
func (n *Node) twoJobs(clocked int) gpuGroup {
	g := gpuGroup{gpus: []growth.GPU{"gpu"}}
	for i, id := range []growth.PodUID{"a", "b"} {
		j := &job{pod: Pod{Ref: growth.PodRef{UID: id}}}
		if i < clocked {
			for range 3 {
				j.counter.steps += 100
				j.gpu.charge(charged{all: 10, work: 10}, 1)
				j.measureGPUCost()
			}
		}
		n.jobs[id] = j
		g.jobs = append(g.jobs, gpuJob{job: j, gpus: g.gpus})
	}
	return g
}

// compute lets the jobs compute at the same time for a probe. They report steps that they made before it first, and what they do after
// their last report does not count.
func (n *Node) compute(g gpuGroup, steps [2]int64, held [2]growth.Seconds) {
	const early, late = 500 * time.Millisecond, 700 * time.Millisecond
	do := func(d time.Duration, steps [2]int64, reported growth.Seconds) {
		n.now = n.now.Add(d)
		for i, j := range g.jobs {
			if reported > 0 && steps[i] > 0 {
				j.counter.steps += steps[i]
				j.stepped = n.now
			}
			h := held[i] * growth.Seconds(d.Seconds()/probeTime.Seconds())
			j.gpu.charge(charged{all: h, work: h}, reported)
		}
		n.probes["gpu"].follow(g)
	}
	do(early, [2]int64{9, 9}, 1)
	do(probeTime, steps, 1)
	do(late, steps, 0)
}

// Two jobs did no more in their probe than in turns, perhaps because something else was busy on the node at that moment.
func TestProbePlain_MeasuresTwoJobsOnceMore(t *testing.T) {
	held := [2]growth.Seconds{2.5, 2.5}
	for name, tc := range map[string]struct {
		steps [2]int64 // in the second probe
		more  bool
	}{
		"as much as in turns again": {[2]int64{12, 13}, false},
		"more than in turns":        {[2]int64{20, 20}, true},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(Config{})
			g := n.twoJobs(2)
			require.True(t, n.probePlain(&g), "the first probe")
			n.compute(g, [2]int64{12, 13}, held)
			n.speeds.Add("pod a", []corun.Kind{"pod b"}, .5, 2.5)
			n.speeds.Add("pod b", []corun.Kind{"pod a"}, .5, 2.5)
			require.False(t, n.probePlain(&g), "no more than in turns")
			n.now = n.now.Add(confirmAfter - time.Second)
			require.False(t, n.probePlain(&g), "not yet")
			n.now = n.now.Add(time.Second)
			require.True(t, n.probePlain(&g), "the second probe")
			n.compute(g, tc.steps, held)
			require.Equal(t, tc.more, n.probePlain(&g))
			n.now = n.now.Add(time.Hour)
			require.False(t, n.probePlain(&g), "there is no third one")
		})
	}
}

func TestProbe_IncludesTwo(t *testing.T) {
	p := probe{jobs: []growth.PodUID{"a", "b", "c"}}
	for name, tc := range map[string]struct {
		jobs []growth.PodUID
		two  bool
	}{
		"one has left":        {[]growth.PodUID{"a", "c"}, true},
		"many are new":        {[]growth.PodUID{"a", "b", "d", "e", "f"}, true},
		"only one of several": {[]growth.PodUID{"a", "d", "e"}, false},
		"all are new":         {[]growth.PodUID{"d"}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.two, p.includesTwo(tc.jobs)) })
	}
}
