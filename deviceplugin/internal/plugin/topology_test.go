package plugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/kubelettest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// noPolicy is the default policy of kubelet's Topology Manager, none.
const noPolicy kubelettest.TopologyPolicy = ""

// newNUMANode returns a node with two NUMA nodes and the given topology policy.
func newNUMANode(t *testing.T, policy kubelettest.TopologyPolicy, gpus string) *harness {
	t.Helper()
	w := newHarness(t, gpus)
	w.kubelet.SetTopology(policy, 2)
	return w
}

// TestTopology_OneGPUPerNode has a GPU of 24 units on each of two NUMA nodes. The first GPU has 20 units left. A pod
// requests four units, and a reservation of the second GPU.
func TestTopology_OneGPUPerNode(t *testing.T) {
	const aligned, steered, refused = 0, 1, -1
	for name, tc := range map[string]struct {
		policy kubelettest.TopologyPolicy
		units  int
		cpus   []int
		want   int // index of the GPU
	}{
		"none follows the reservation":                     {noPolicy, 4, []int{0}, steered},
		"best-effort aligns with the CPUs":                 {kubelettest.BestEffort, 4, []int{0}, aligned},
		"restricted aligns with the CPUs":                  {kubelettest.Restricted, 4, []int{0}, aligned},
		"single-numa-node aligns with the CPUs":            {kubelettest.SingleNUMANode, 4, []int{0}, aligned},
		"the other node's CPUs":                            {kubelettest.SingleNUMANode, 4, []int{1}, steered},
		"best-effort without exclusive CPUs":               {kubelettest.BestEffort, 4, nil, aligned},
		"restricted without exclusive CPUs, one node fits": {kubelettest.Restricted, 22, nil, steered},
		"restricted refuses what it cannot align":          {kubelettest.Restricted, 22, []int{0}, refused},
		"single-numa-node refuses what it cannot align":    {kubelettest.SingleNUMANode, 22, []int{0}, refused},
		"none ignores CPUs without room on their node":     {noPolicy, 22, []int{0}, steered},
	} {
		t.Run(name, func(t *testing.T) {
			w := newNUMANode(t, noPolicy, "emulated:2x24GiB@numa=0,1")
			w.runPod(w.bindPod("earlier", 1, w.gpus[:1], main(4)))
			w.kubelet.SetTopology(tc.policy, 2)
			pod := w.bindPod("p", 2, w.gpus[1:], main(tc.units))
			pod.CPUNodes = tc.cpus
			if tc.want == refused {
				require.ErrorContains(t, w.kubelet.Admit(t.Context(), pod), "TopologyAffinityError")
				require.Empty(t, pod.Containers[0].IDs)
				return
			}
			w.runPod(pod)
			a, ok := w.allocation("p")
			require.True(t, ok)
			require.Equal(t, []growth.GPUShare{{
				GPU:    w.gpus[tc.want],
				Memory: growth.MiB(tc.units) * growth.GiB,
			}}, a.GPUs(), "the record names the GPU that kubelet gave")
		})
	}
}

func TestTopology_HiddenFromKubelet(t *testing.T) {
	w := newNode(t, gpushare.Resource)
	w.hideNUMA = true
	w.startPlugin("emulated:2x24GiB@numa=0,1")
	w.kubelet.SetTopology(kubelettest.SingleNUMANode, 2)
	pod := w.bindPod("p", 1, w.gpus[1:], main(4))
	pod.CPUNodes = []int{0}
	w.runPod(pod)
	require.Equal(t, string(w.gpus[1]), pod.Containers[0].Env["GPUSHARE_GPU_UUIDS"], "kubelet aligns the CPUs alone")
}

// TestTopology_BestEffortTakesAlignedUnitsFirst shows a pod that kubelet cannot align: it takes the two units that the
// CPUs' node has left, without asking the plugin, and the rest elsewhere.
func TestTopology_BestEffortTakesAlignedUnitsFirst(t *testing.T) {
	w := newNUMANode(t, noPolicy, "emulated:2x24GiB@numa=0,1")
	w.runPod(w.bindPod("earlier", 1, w.gpus[:1], main(22)))
	w.kubelet.SetTopology(kubelettest.BestEffort, 2)
	pod := w.bindPod("p", 2, w.gpus[1:], main(4))
	pod.CPUNodes = []int{0}
	err := w.kubelet.Admit(t.Context(), pod)
	require.ErrorContains(t, err, "no single GPU of this node has 4GiB left")
	require.ErrorContains(t, err, "The GPUs lie on 2 NUMA nodes: under a topology policy other than none")
}

func TestTopology_PodOnTwoGPUs(t *testing.T) {
	t.Run("of one NUMA node", func(t *testing.T) {
		w := newNUMANode(t, kubelettest.SingleNUMANode, "emulated:4x24GiB@numa=0,1,0,1")
		pod := w.bindPod("p", 1, []growth.GPU{w.gpus[1], w.gpus[3]}, main(16))
		pod.CPUNodes = []int{1}
		w.runPod(pod)
		a, _ := w.allocation("p")
		require.Len(t, a.GPUs(), 2)
		for _, share := range a.GPUs() {
			require.Contains(t, []growth.GPU{w.gpus[1], w.gpus[3]}, share.GPU)
			require.Equal(t, 8*growth.GiB, share.Memory)
		}
	})
	t.Run("of two NUMA nodes are not replaced by one GPU", func(t *testing.T) {
		w := newNUMANode(t, kubelettest.BestEffort, "emulated:2x24GiB@numa=0,1")
		err := w.kubelet.Admit(t.Context(), w.bindPod("p", 1, w.gpus, main(16)))
		require.ErrorContains(t, err, "found 1 of the 2 GPUs that the pod asks for")
		require.ErrorContains(t, err, "--numa-topology=false")
	})
	t.Run("without a topology policy", func(t *testing.T) {
		w := newNUMANode(t, noPolicy, "emulated:2x24GiB@numa=0,1")
		w.runPod(w.bindPod("p", 1, w.gpus, main(16)))
		a, _ := w.allocation("p")
		require.Len(t, a.GPUs(), 2)
	})
}
