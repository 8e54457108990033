package placement_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

func TestNewNode_CountsEachPodOnce(t *testing.T) {
	inventory := bus.NodeGPUs{Unit: gib, GPUs: []bus.GPU{
		{UUID: "GPU-b", Memory: 24 * gib, Healthy: true}, {UUID: "GPU-a", Memory: 24 * gib, Healthy: true},
	}}
	on := func(g growth.GPU, memory growth.MiB) []growth.GPUShare {
		return []growth.GPUShare{{GPU: g, Memory: memory}}
	}
	given := func(containers ...bus.ContainerAllocation) map[growth.PodUID]bus.Allocation {
		return map[growth.PodUID]bus.Allocation{"p": {Containers: containers}}
	}
	planned := func(shares []growth.GPUShare, containers ...bus.ContainerRequest) map[growth.PodUID]bus.Reservation {
		return map[growth.PodUID]bus.Reservation{"p": {GPUs: shares, Containers: containers}}
	}
	annotated := func(g ...growth.GPU) map[growth.PodUID]placement.BoundPod {
		return map[growth.PodUID]placement.BoundPod{"p": {GPUs: g, Request: asks(8*gib, len(g), 8*len(g))}}
	}
	first, second := bus.ContainerRequest{Name: "a", Units: 8}, bus.ContainerRequest{Name: "b", Units: 4}
	for name, tc := range map[string]struct {
		records placement.Records
		a, b    growth.MiB
	}{
		"no pods": {},
		"an allocation alone": {
			records: placement.Records{Allocations: given(bus.ContainerAllocation{
				Name: "a",
				GPUs: on("GPU-a", 8*gib),
			})}, a: 8 * gib,
		},
		"a reservation alone":          {records: placement.Records{Reservations: planned(on("GPU-b", 8*gib), first)}, b: 8 * gib},
		"an annotation alone":          {records: placement.Records{Bound: annotated("GPU-a")}, a: 8 * gib},
		"one pod on two GPUs":          {records: placement.Records{Bound: annotated("GPU-a", "GPU-b")}, a: 8 * gib, b: 8 * gib},
		"a GPU that has left the node": {records: placement.Records{Bound: annotated("GPU-x")}},
		"all three records agree": {
			records: placement.Records{
				Allocations:  given(bus.ContainerAllocation{Name: "a", GPUs: on("GPU-a", 8*gib)}),
				Reservations: planned(on("GPU-a", 8*gib), first), Bound: annotated("GPU-a"),
			}, a: 8 * gib,
		},
		"kubelet allocated another GPU": {
			records: placement.Records{
				Allocations:  given(bus.ContainerAllocation{Name: "a", GPUs: on("GPU-b", 8*gib)}),
				Reservations: planned(on("GPU-a", 8*gib), first), Bound: annotated("GPU-a"),
			}, b: 8 * gib,
		},
		"the second container has no allocation yet": {
			records: placement.Records{
				Allocations:  given(bus.ContainerAllocation{Name: "a", GPUs: on("GPU-b", 8*gib)}),
				Reservations: planned(on("GPU-a", 12*gib), first, second),
			}, a: 4 * gib, b: 8 * gib,
		},
		"the second container has no allocation and the reservation has expired": {
			records: placement.Records{
				Allocations: given(bus.ContainerAllocation{Name: "a", GPUs: on("GPU-b", 8*gib)}),
				Bound: map[growth.PodUID]placement.BoundPod{"p": {GPUs: []growth.GPU{"GPU-a"}, Request: placement.Request{
					Memory: 12 * gib, Count: 1, Containers: []placement.Container{
						{Name: "a", Units: 8},
						{Name: "b", Units: 4},
					},
				}}},
			}, b: 12 * gib,
		},
		"negative amounts count as 0": {
			records: placement.Records{Reservations: planned(on("GPU-a", -8*gib), first)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.records.Inventory = inventory
			n := placement.NewNode("n", tc.records)
			require.Equal(t, []growth.GPU{"GPU-a", "GPU-b"}, []growth.GPU{n.GPUs[0].UUID, n.GPUs[1].UUID})
			require.Equal(t, tc.a, n.GPUs[0].Used())
			require.Equal(t, tc.b, n.GPUs[1].Used())
			require.Zero(t, n.OverCommitted())
			empty := n.Without("p")
			require.Zero(t, empty.GPUs[0].Used()+empty.GPUs[1].Used())
			require.Equal(t, tc.a, n.GPUs[0].Used(), "Without must not modify its receiver")
		})
	}
}

func TestNode_OverCommitted(t *testing.T) {
	require.Equal(t, 6*gib, node(gpu("GPU-a", 20*gib, 10*gib), gpu("GPU-b", gib)).OverCommitted())
}

func TestNewNode_UsesTheLastSample(t *testing.T) {
	samples := map[growth.PodUID]bus.Sample{
		"silent":     {},
		"busy":       {Reported: true, Growth: 0.4, StepSeconds: 2, LoadSeconds: 0.5, Category: growth.Watching, CPUUsed: 300},
		"converged":  {Reported: true, Growth: 0},
		"invalid":    {Reported: true, Growth: 17, StepSeconds: 1, LoadSeconds: 30, ETA: &bus.ETA{Left: new(growth.Seconds(-7))}},
		"ends":       {ETA: &bus.ETA{Left: new(growth.Seconds(30))}},
		"by a clock": {ETA: &bus.ETA{ETA: gpushare.ETA{Likely: time.Now()}}},
	}
	for pod, want := range map[growth.PodUID]placement.Resident{
		"unknown": {Growth: 1}, "silent": {Growth: 1}, "busy": {Growth: 0.4, Activity: 0.75, Category: growth.Watching, CPU: 300},
		"converged": {Growth: 0}, "invalid": {Growth: 1, Activity: 0.02}, "ends": {Growth: 1, Left: 30}, "by a clock": {Growth: 1},
	} {
		n := placement.NewNode("n", placement.Records{
			Inventory: bus.NodeGPUs{
				Unit: gib,
				GPUs: []bus.GPU{{UUID: "GPU-a", Memory: gib}, {UUID: "GPU-b", Memory: gib}},
			},
			Reservations: map[growth.PodUID]bus.Reservation{pod: {GPUs: []growth.GPUShare{
				{GPU: "GPU-a", Memory: 1},
				{GPU: "GPU-b", Memory: 1},
			}}},
			Jobs: fakeJobs(samples),
		})
		if want.CPU == 0 {
			want.CPU = growth.Core // what the pod requests
		}
		want.CPU /= 2
		want.Pod, want.Kind, want.Memory, want.Growth = pod, kindOf(pod), 1, want.Growth/2 // half of it on each of two GPUs
		require.Equal(t, []placement.Resident{want}, n.GPUs[0].Residents, string(pod))
	}
}

// fakeJobs has the samples of jobs. Each pod has a kind of its own.
type fakeJobs map[growth.PodUID]bus.Sample

func (j fakeJobs) Sample(pod growth.PodUID) (bus.Sample, bool) { s, ok := j[pod]; return s, ok }

func (j fakeJobs) Kind(pod growth.PodUID) interference.Kind { return kindOf(pod) }

func (j fakeJobs) RequestedCPU(growth.PodUID) growth.MilliCPU { return growth.Core }

func kindOf(pod growth.PodUID) interference.Kind { return interference.KindOf("ns", string(pod)) }
