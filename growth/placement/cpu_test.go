package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// crowded returns a node with some CPU, an empty GPU, and another one whose jobs can use some CPU each.
func crowded(has growth.MilliCPU, uses ...growth.MilliCPU) placement.Node {
	shared := gpu("GPU-b", make([]growth.MiB, len(uses))...)
	for i, cpu := range uses {
		shared.Residents[i].CPU = cpu
	}
	n := node(gpu("GPU-a"), shared)
	n.CPU = has
	return n
}

// The new job is alone on its GPU, and takes two cores.
func TestMarginalGrowth_CountsTheCPUOfTheNode(t *testing.T) {
	const core = growth.Core
	for name, tc := range map[string]struct {
		node  placement.Node
		score float64
	}{
		"enough for all":                      {crowded(4*core, core, core), 1},
		"three can use six cores of four":     {crowded(4*core, 2*core, 2*core), 4./6 - 2*(1-4./6)},
		"it was short before":                 {crowded(4*core, 4*core, 4*core), 4./10 - 2*(1-8./10)},
		"a job alone that can use more":       {crowded(core), 1. / 2},
		"the coordinator publishes no CPU":    {crowded(0, 4*core, 4*core), 1},
		"a record with less than nothing":     {crowded(4*core, -9*core), 1},
		"a job whose use is unknown":          {crowded(4*core, 0, 2*core), 1},
		"a job that reports more than exists": {crowded(4*core, 1<<62, 1<<62), 4./10 - 2*(1-8./10)},
	} {
		t.Run(name, func(t *testing.T) {
			r := asks(4*gib, 1, 4)
			r.CPU = 2 * core
			score, status := placement.ScoreNode(tc.node, r, placement.MarginalGrowth{})
			require.True(t, status.Fits())
			require.InDelta(t, tc.score, float64(score), 1e-6)
			choice, _ := placement.Place(tc.node, r, placement.MarginalGrowth{})
			require.Equal(t, score, choice.Score)
		})
	}
}

// What all jobs lose by the CPU counts once, on however many GPUs the new job is.
func TestMarginalGrowth_CountsTheCPUOnceForAllGPUs(t *testing.T) {
	n := crowded(4*growth.Core, 4*growth.Core)
	n.GPUs = append(n.GPUs, gpu("GPU-c"))
	one, two := asks(gib, 1, 1), asks(gib, 2, 2)
	one.CPU, two.CPU = growth.Core, growth.Core
	score, _ := placement.ScoreNode(n, one, placement.MarginalGrowth{})
	both, _ := placement.ScoreNode(n, two, placement.MarginalGrowth{})
	require.InDelta(t, float64(score), float64(both), 1e-9)
	require.InDelta(t, 4./5-(1-4./5), float64(score), 1e-9)
}

func TestMarginalGrowth_ExplainsThatTheCPUIsShort(t *testing.T) {
	n := crowded(2*growth.Core, 2*growth.Core)
	job := placement.Request{CPU: 2 * growth.Core, Count: 1}.Newcomer(n, gib)
	require.Equal(t, "+0.00 growth: alone on the GPU; the jobs of the node can use 2.0 times the CPU that it has", placement.MarginalGrowth{}.Explain(n.GPUs[0], job))
}

func TestCPUOf(t *testing.T) {
	for name, tc := range map[string]struct {
		sample bus.Sample
		want   growth.MilliCPU
	}{
		"it could use more":              {bus.Sample{CPUUsed: 300, Usable: 2000}, 2000},
		"it has used more at times":      {bus.Sample{CPUUsed: 2500, Usable: 2000}, 2500},
		"what it can use is of its GPUs": {bus.Sample{CPUUsed: 300, Usable: 1000, GPUTime: &bus.GPUTime{}}, 300},
		"its user has paused it":         {bus.Sample{CPUUsed: 10, Usable: 2000, Paused: bus.PauseComplete}, 10},
		"nothing is known":               {bus.Sample{}, 0},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, placement.CPUOf(tc.sample)) })
	}
}
