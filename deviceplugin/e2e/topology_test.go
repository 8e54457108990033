//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/contract"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// static makes core 0 the only shared one. Core 1 is the only one that a pod can have alone.
const static = "cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\n"

// TestTopology_RealKubelet has a kubelet that sees two NUMA nodes with one core and one GPU each. Core 0 is reserved, so
// exclusive cores are on NUMA node 1 only.
func TestTopology_RealKubelet(t *testing.T) {
	t.Parallel()
	if runtime.NumCPU() < 2 {
		t.Skip("SKIPPED: the static CPU Manager needs a second core: one is reserved for the system")
	}
	n := newNode(t, "--cpus-per-node=2", "--numa-nodes=2")
	p := startDevicePlugin(t, n, "emulated:2x10GiB@numa=0,1")
	for _, tc := range []struct {
		policy string
		// aligned is set if a pod gets units of the NUMA node of its core; otherwise the device plugin chooses.
		aligned bool
		// refused is kubelet's reason to refuse a pod whose core and units cannot be on one NUMA node; "" if it runs.
		refused string
	}{
		{policy: "none"},
		{policy: "best-effort", aligned: true},
		{policy: "restricted", aligned: true, refused: "TopologyAffinityError"},
		{policy: "single-numa-node", aligned: true, refused: "TopologyAffinityError"},
	} {
		t.Run(tc.policy, func(t *testing.T) {
			n.configure(t, static+"topologyManagerPolicy: "+tc.policy+"\n")
			w := *p
			w.t, w.pods = t, &pods{t: t, node: n}
			w.awaitRegistration()

			// The first pods after a restart of kubelet find the units of ended pods still taken.
			require.NoError(t, w.start("floating", 1))

			// A Guaranteed pod with a whole core has it alone, and units of its NUMA node.
			require.NoError(t, w.startPinned("pinned", 4))
			require.Equal(t, "1", w.cores("pinned"))
			require.Len(t, w.gpuNodes("pinned"), 1, "units of one GPU")
			if tc.aligned {
				require.Equal(t, []int{1}, w.gpuNodes("pinned"))
			}
			require.Eventually(t, func() bool { return w.cores("floating") == "0" }, timeout, time.Second, "the pool has shrunk")
			w.endAll("floating", "pinned")

			// NUMA node 1 has a core but no room, node 0 has room but no core.
			require.NoError(t, w.start("first", 8))
			require.NoError(t, w.start("second", 8))
			occupant, other := "first", "second"
			if w.gpuNodes(occupant)[0] == 0 {
				occupant, other = other, occupant
			}
			require.Equal(t, []int{1}, w.gpuNodes(occupant))
			w.pods.End(other)
			t.Cleanup(func() { w.endAll("torn", occupant) })
			err := w.startPinned("torn", 4)
			if tc.refused != "" {
				require.ErrorContains(t, err, tc.refused)
				require.Empty(t, w.ids("torn"))
				return
			}
			require.NoError(t, err)
			require.Equal(t, []int{0}, w.gpuNodes("torn"))
			require.Equal(t, "1", w.cores("torn"))
		})
	}
}

// endAll ends pods. Kubelet must not restart before it has released their cores.
func (p *devicePlugin) endAll(names ...string) {
	for _, name := range names {
		p.pods.End(name)
	}
}

// startPinned runs a Guaranteed pod of one core, and returns kubelet's error.
func (p *devicePlugin) startPinned(name string, units int) error {
	p.t.Helper()
	pod := manifest(contract.Pod{
		Name: name, Resource: gpushare.Resource, Containers: []contract.Container{{Name: "train", Units: units}},
	})
	limits := pod.Spec.Containers[0].Resources.Limits
	limits[corev1.ResourceCPU], limits[corev1.ResourceMemory] = resource.MustParse("1"), resource.MustParse("64Mi")
	return p.pods.start(pod)
}

// cores returns the cores on which the processes of a pod may run.
func (p *devicePlugin) cores(pod string) string {
	p.t.Helper()
	pids := p.pods.processes(pod, "train")
	require.NotEmpty(p.t, pids)
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pids[0]), "status"))
	require.NoError(p.t, err)
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return strings.TrimSpace(list)
		}
	}
	return ""
}

// gpuNodes returns the NUMA nodes of the GPUs whose units a pod holds.
func (p *devicePlugin) gpuNodes(pod string) (nodes []int) {
	p.t.Helper()
	for _, d := range p.devices {
		if slices.ContainsFunc(p.ids(pod), func(id string) bool { return strings.HasPrefix(id, string(d.UUID)+"/") }) {
			nodes = append(nodes, d.NUMA)
		}
	}
	return nodes
}
