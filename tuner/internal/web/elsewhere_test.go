package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// A job at risk on node a needs 600 s of a whole GPU in half an hour. Node b has an idle GPU of the same model.
func TestState_NamesOtherNodesForAJobAtRisk(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	node := func(name growth.NodeName, model string) history.Node {
		return history.Node{
			Name: name,
			Load: &bus.NodeLoad{},
			GPUs: &bus.NodeGPUs{GPUs: []bus.GPU{{UUID: "GPU-" + growth.GPU(name), Model: model, Healthy: true}}},
		}
	}
	left := remaining.Exact(600)
	left.Unit = growth.GPUSecond
	cluster := func() *history.Snapshot {
		return &history.Snapshot{
			Nodes: []history.Node{node("a", "H100"), node("b", "H100")},
			Jobs: []history.Job{{UID: "u", Sample: &bus.Sample{
				Node:     "a",
				GPUs:     []growth.GPU{"GPU-a"},
				Usable:   growth.Core,
				ETA:      &bus.ETA{Remaining: left},
				Deadline: &bus.Deadline{At: now.Add(30 * time.Minute), Status: deadline.AtRisk},
			}}},
		}
	}
	busy := history.Job{UID: "other", Sample: &bus.Sample{Node: "b", GPUs: []growth.GPU{"GPU-b"}}}
	for name, tc := range map[string]struct {
		change func(s *history.Snapshot)
		want   []deadline.Spare
	}{
		"idle":              {func(*history.Snapshot) {}, []deadline.Spare{{Node: "b", Early: 17 * 60}}},
		"with one job":      {func(s *history.Snapshot) { s.Jobs = append(s.Jobs, busy) }, []deadline.Spare{{Node: "b", Early: 7 * 60}}},
		"with two jobs":     {func(s *history.Snapshot) { s.Jobs = append(s.Jobs, busy, busy) }, nil},
		"another model":     {func(s *history.Snapshot) { s.Nodes[1].GPUs.GPUs[0].Model = "K80" }, nil},
		"an unhealthy GPU":  {func(s *history.Snapshot) { s.Nodes[1].GPUs.GPUs[0].Healthy = false }, nil},
		"no coordinator":    {func(s *history.Snapshot) { s.Nodes[1].Load = nil }, nil},
		"no device plugin":  {func(s *history.Snapshot) { s.Nodes[1].GPUs = nil }, nil},
		"emulated GPUs":     {func(s *history.Snapshot) { s.Nodes[1].GPUs.Emulated = true }, nil},
		"a job in time":     {func(s *history.Snapshot) { s.Jobs[0].Sample.Deadline.Status = deadline.OnTime }, nil},
		"no estimate":       {func(s *history.Snapshot) { s.Jobs[0].Sample.ETA = nil }, nil},
		"a job on two GPUs": {func(s *history.Snapshot) { s.Jobs[0].Sample.GPUs = []growth.GPU{"GPU-a", "GPU-c"} }, nil},
		"work of cores":     {func(s *history.Snapshot) { s.Jobs[0].Sample.ETA.Remaining.Unit = growth.CoreSecond }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster()
			tc.change(s)
			require.Equal(t, tc.want, state(s, now).Jobs[0].Elsewhere)
		})
	}
}
