package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// arriveFixed starts a pod of QoS class Guaranteed.
func (w *harness) arriveFixed(name string, cpu growth.MilliCPU) {
	w.apply(node.Pod{
		Ref: ref(name), Running: true, Fixed: "its QoS class is Guaranteed",
		Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
		Containers:  []node.Container{{Name: "train", Request: cpu, Limit: cpu}},
	})
	w.allocate(name)
}

// Jobs may come to a node without jobs: what they could use there is known.
func TestLoad_OfANodeWithoutJobs(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.step(node.CapacityChanged{CPU: 8 * growth.Core})
		w.pass(interval)
		require.Zero(t, w.load.CPUPool)
		require.Equal(t, 8*growth.Core, w.load.CPUCapacity)
	})
}

// Cores that kubelet's CPU manager has given to a pod are in no budget.
func TestExclusiveCores_AreInNoBudget(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		w.step(node.CapacityChanged{CPU: 8 * growth.Core})
		w.arriveFixed("pinned", 3000)
		w.arrive("young")
		w.pass(interval)
		require.Equal(t, 6, w.load.LoaderBudget, "8 cores, two training processes")
		require.Zero(t, w.sample("pinned").ExclusiveCores)

		w.step(node.ExclusiveChanged{Cores: map[growth.PodUID]int{uid("pinned"): 3, "uid-database": 1}})
		w.pass(interval)
		require.Equal(t, 3, w.load.LoaderBudget, "four cores are left, one training process shares them")
		require.Equal(t, 3, w.sample("pinned").ExclusiveCores)
		require.Equal(t, growth.MilliCPU(500), w.load.CPUPool)

		w.step(node.ExclusiveChanged{})
		w.pass(interval)
		require.Equal(t, 6, w.load.LoaderBudget)
	})
}

func TestArrive_APodWithLimitsAloneIsAJob(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		w.apply(node.Pod{Ref: ref("limits"), Running: true, ByLimits: true, Annotations: map[string]string{},
			Containers: []node.Container{{Name: "train", Request: 500}}})
		w.allocate("limits")
		w.arrive("other")
		w.train(0, 8, map[string]func(int) float64{"limits": falling, "other": flat})
		require.Equal(t, map[string]growth.MilliCPU{"limits": 750, "other": 250}, w.requests())
		require.Equal(t, 1, w.eventCount("limits JobArrived: The job runs with GPU memory of GPU-1."))
	})
}

// A request may equal its limit if the QoS class stays Burstable.
func TestPod_DivideUpToTheLimit(t *testing.T) {
	p := podOf(node.Container{Name: "train", Request: 1000, Limit: 1000})
	original, _ := p.Original()
	require.Equal(t, node.Requests{"train": 999}, p.Divide(1000, original))
	p.Burstable = true
	require.Equal(t, node.Requests{"train": 1000}, p.Divide(1000, original))
	require.Equal(t, node.Requests{"train": 1000}, p.Divide(1500, original))
}
