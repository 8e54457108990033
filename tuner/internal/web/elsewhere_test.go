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

// atRisk returns a job at risk on node a that is due in half an hour, with 600 units of work left.
func atRisk(now time.Time, unit growth.Unit, usable growth.MilliCPU) history.Job {
	left := remaining.Exact(600)
	left.Unit = unit
	return history.Job{UID: "u", Sample: &bus.Sample{
		Node:     "a",
		GPUs:     []growth.GPU{"GPU-a"},
		Usable:   usable,
		ETA:      &bus.ETA{Remaining: left},
		Deadline: &bus.Deadline{At: now.Add(30 * time.Minute), Status: deadline.AtRisk},
	}}
}

// onB returns another job, which is on node b.
func onB() history.Job {
	return history.Job{UID: "other", Sample: &bus.Sample{Node: "b", GPUs: []growth.GPU{"GPU-b"}}}
}

// skew makes the deadline one of a node whose clock differs by d. The job is due in half an hour.
func skew(s *history.Snapshot, now time.Time, d time.Duration) {
	s.Jobs[0].Sample.Deadline.At = now.Add(d + 30*time.Minute)
	s.Jobs[0].Sample.Deadline.Left = new(growth.Seconds(1800))
}

// Node b has an idle GPU of the same model.
func TestState_NamesOtherNodesForAJobAtRisk(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	node := func(name growth.NodeName, model string) history.Node {
		return history.Node{
			Name: name,
			Load: &bus.NodeLoad{},
			GPUs: &bus.NodeGPUs{GPUs: []bus.GPU{{UUID: "GPU-" + growth.GPU(name), Model: model, Healthy: true}}},
		}
	}
	for name, tc := range map[string]struct {
		change func(s *history.Snapshot)
		want   []deadline.Spare
	}{
		"idle":              {func(*history.Snapshot) {}, []deadline.Spare{{Node: "b", Early: 17 * 60}}},
		"with one job":      {func(s *history.Snapshot) { s.Jobs = append(s.Jobs, onB()) }, []deadline.Spare{{Node: "b", Early: 7 * 60}}},
		"a clock behind":    {func(s *history.Snapshot) { skew(s, now, -time.Hour) }, []deadline.Spare{{Node: "b", Early: 17 * 60}}},
		"a clock ahead":     {func(s *history.Snapshot) { skew(s, now, time.Hour) }, []deadline.Spare{{Node: "b", Early: 17 * 60}}},
		"with two jobs":     {func(s *history.Snapshot) { s.Jobs = append(s.Jobs, onB(), onB()) }, nil},
		"another model":     {func(s *history.Snapshot) { s.Nodes[1].GPUs.GPUs[0].Model = "K80" }, nil},
		"an unhealthy GPU":  {func(s *history.Snapshot) { s.Nodes[1].GPUs.GPUs[0].Healthy = false }, nil},
		"no coordinator":    {func(s *history.Snapshot) { s.Nodes[1].Load = nil }, nil},
		"no device plugin":  {func(s *history.Snapshot) { s.Nodes[1].GPUs = nil }, nil},
		"emulated GPUs":     {func(s *history.Snapshot) { s.Nodes[1].GPUs.Emulated = true }, nil},
		"a job in time":     {func(s *history.Snapshot) { s.Jobs[0].Sample.Deadline.Status = deadline.OnTime }, nil},
		"no estimate":       {func(s *history.Snapshot) { s.Jobs[0].Sample.ETA = nil }, nil},
		"a job on two GPUs": {func(s *history.Snapshot) { s.Jobs[0].Sample.GPUs = []growth.GPU{"GPU-a", "GPU-c"} }, nil},
		"ranks in two pods": {func(s *history.Snapshot) { s.Jobs[0].Sample.Ranks, s.Jobs[0].Sample.WorldSize = 1, 2 }, nil},
		"work of cores":     {func(s *history.Snapshot) { s.Jobs[0].Sample.ETA.Remaining.Unit = growth.CoreSecond }, nil},
		"less work to a target": {func(s *history.Snapshot) {
			toTarget := remaining.Exact(300)
			toTarget.Unit = growth.GPUSecond
			s.Jobs[0].Sample.Deadline.ToTarget = &toTarget
		}, []deadline.Spare{{Node: "b", Early: 22 * 60}}},
		"two ranks in a pod": {func(s *history.Snapshot) { s.Jobs[0].Sample.Ranks, s.Jobs[0].Sample.WorldSize = 2, 2 }, []deadline.Spare{{Node: "b", Early: 17 * 60}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &history.Snapshot{
				Nodes: []history.Node{node("a", "H100"), node("b", "H100")},
				Jobs:  []history.Job{atRisk(now, growth.GPUSecond, growth.Core)},
			}
			tc.change(s)
			require.Equal(t, tc.want, state(s, now).Jobs[0].Elsewhere)
		})
	}
}

// The job can use two cores. Node b has four, which its jobs divide.
func TestState_NamesOtherNodesWhereJobsDivideCPU(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	node := func(name growth.NodeName) history.Node {
		return history.Node{
			Name: name,
			Load: &bus.NodeLoad{CPUCapacity: 4 * growth.Core},
			GPUs: &bus.NodeGPUs{Emulated: true, GPUs: []bus.GPU{{UUID: "GPU-" + growth.GPU(name), Healthy: true}}},
		}
	}
	jobs := func(count int) func(*history.Snapshot) {
		return func(s *history.Snapshot) {
			for range count {
				s.Jobs = append(s.Jobs, onB())
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(s *history.Snapshot)
		want   []deadline.Spare
	}{
		"idle":                      {jobs(0), []deadline.Spare{{Node: "b", Early: 22 * 60}}},
		"a job has half of the CPU": {jobs(1), []deadline.Spare{{Node: "b", Early: 22 * 60}}},
		"a core is left":            {jobs(3), []deadline.Spare{{Node: "b", Early: 17 * 60}}},
		"ten jobs are too many":     {jobs(10), nil},
		"memory on two GPUs":        {func(s *history.Snapshot) { s.Jobs[0].Sample.GPUs = []growth.GPU{"GPU-a", "GPU-c"} }, []deadline.Spare{{Node: "b", Early: 22 * 60}}},
		"an earlier release, which publishes what jobs share": {
			func(s *history.Snapshot) { s.Nodes[1].Load = &bus.NodeLoad{CPUPool: growth.Core} }, []deadline.Spare{{Node: "b", Early: 17 * 60}}},
		"an earlier release without jobs":  {func(s *history.Snapshot) { s.Nodes[1].Load = &bus.NodeLoad{} }, nil},
		"an invalid capacity":              {func(s *history.Snapshot) { s.Nodes[1].Load.CPUCapacity = -growth.Core }, nil},
		"no GPU is healthy":                {func(s *history.Snapshot) { s.Nodes[1].GPUs.GPUs[0].Healthy = false }, nil},
		"the time of real GPUs is divided": {func(s *history.Snapshot) { s.Nodes[1].GPUs.Emulated = false }, nil},
		"emulated GPUs compute":            {func(s *history.Snapshot) { s.Nodes[1].GPUs.Computes = true }, nil},
		"no coordinator":                   {func(s *history.Snapshot) { s.Nodes[1].Load = nil }, nil},
		"it is unknown what the job uses":  {func(s *history.Snapshot) { s.Jobs[0].Sample.Usable = 0 }, nil},
		"work of GPUs":                     {func(s *history.Snapshot) { s.Jobs[0].Sample.ETA.Remaining.Unit = growth.GPUSecond }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &history.Snapshot{
				Nodes: []history.Node{node("a"), node("b")},
				Jobs:  []history.Job{atRisk(now, growth.CoreSecond, 2*growth.Core)},
			}
			tc.change(s)
			require.Equal(t, tc.want, state(s, now).Jobs[0].Elsewhere)
		})
	}
}
