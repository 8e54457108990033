//go:build e2e && linux

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// pinning is the configuration of a kubelet that gives core 1 to a Guaranteed pod alone. The node keeps enough of core 0 for
// the pods of Trellis.
const pinning = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
topologyManagerPolicy: single-numa-node
systemReserved: {cpu: 200m}
`

// TestCores has one node whose kubelet runs the static CPU Manager and sees two NUMA nodes, each with a core and a GPU.
func TestCores(t *testing.T) {
	t.Parallel()
	if runtime.NumCPU() < 2 {
		t.Skip("SKIPPED: the static CPU Manager needs a second core: one is reserved for the system")
	}
	skipUnlessRoot(t)
	s := newStageOf(t, "cores", buildLocal(t), "", func(l *cluster.Local) {
		l.Nodes, l.UpFlags = 1, []string{"--cpus-per-node=2", "--numa-nodes=2"}
		l.GPUs = "emulated:2x24GiB@numa=0,1"
	})
	s.configureKubelet(t, pinning)
	s.useFlowCon(t)
	t.Run("exclusive cores", s.exclusiveCores)
	t.Run("a pod that cannot be aligned", s.unaligned)
	t.Run("long names", s.longNames)
}

// configureKubelet restarts the first node's kubelet with a change of its configuration.
func (s *stage) configureKubelet(t *testing.T, config string) {
	status, err := s.local.Status(t.Context())
	require.NoError(t, err)
	node := filepath.Join(status.Folder, "nodes", "node-1")
	require.NoError(t, os.WriteFile(filepath.Join(node, "config", "kubelet.conf.d", "test.conf"), []byte(config), 0o644))
	require.NoError(t, os.Remove(filepath.Join(node, "kubelet", "cpu_manager_state")))
	require.NoError(t, s.local.RestartKubelet(t.Context(), "node-1"))
	s.awaitReady(t)
	eventually(t, "the node has the CPU that the configuration leaves", time.Minute, func() bool {
		found, err := s.Kubernetes.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
		return err == nil && found.Status.Allocatable.Cpu().MilliValue() == 1800
	})
}

// pinnedPod returns a Guaranteed job of one whole core.
func (s *stage) pinnedPod(name, memory string) *corev1.Pod {
	pod := s.scriptPod(name, "", fallingScript, "1")
	pod.Annotations[gpushare.MemoryAnnotation] = memory
	all := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("64Mi")}
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: all.DeepCopy(), Limits: all}
	return pod
}

// exclusiveCores has a job with a core of its own next to one that shares the other core. The first is not tuned but
// observed, and its core is in no budget.
func (s *stage) exclusiveCores(t *testing.T) {
	t.Cleanup(func() { s.removed(t, "pinned", "floating") })
	s.create(t, s.scriptPod("floating", "", fallingScript, "100m"))
	s.create(t, s.pinnedPod("pinned", "1Gi"))
	eventually(t, "the job is observed with its core", time.Minute, func() bool {
		sample := s.sample(t, "pinned")
		return sample != nil && sample.Sample.Reported && sample.Sample.ExclusiveCores == 1
	})
	eventually(t, "the other job is observed", time.Minute, func() bool {
		sample := s.sample(t, "floating")
		return sample != nil && sample.Sample.Reported
	})
	require.Zero(t, s.sample(t, "floating").Sample.ExclusiveCores)
	require.Equal(t, int64(1000), s.milli(t, "pinned"))
	require.True(t, s.hasEvent(t, "pinned", "CPUNotTuned", "Guaranteed"))
	require.False(t, s.hasEvent(t, "pinned", "CPUShareChanged", ""))
	eventually(t, "the core is in no budget", time.Minute, func() bool {
		load := s.load(t)
		return load.CPUPool == growth.MilliCPU(s.milli(t, "floating")) && load.LoaderBudget == 0
	})
}

// load returns the load of the only node.
func (s *stage) load(t *testing.T) bus.NodeLoad {
	t.Helper()
	state, err := s.State(t.Context())
	require.NoError(t, err)
	require.Len(t, state.Nodes, 1)
	require.NotNil(t, state.Nodes[0].Load)
	return *state.Nodes[0].Load
}

// unaligned has a GPU with room on the NUMA node whose core is reserved, and a free core on the NUMA node whose GPU is full.
// Kubelet refuses the job, and the extender recreates it: it never ran. It runs once the GPU next to its core has room.
func (s *stage) unaligned(t *testing.T) {
	t.Cleanup(func() { s.removed(t, "low", "high", "torn") })
	for _, name := range []string{"low", "high"} {
		pod := s.scriptPod(name, "", flatScript, "50m")
		pod.Annotations[gpushare.MemoryAnnotation] = "20Gi"
		s.create(t, pod)
		eventually(t, name+" runs", time.Minute, func() bool { return s.pod(t, name).Status.Phase == corev1.PodRunning })
	}
	s.removed(t, "low") // kubelet fills NUMA node 0 first

	refused := s.create(t, s.pinnedPod("torn", "10Gi"))
	eventually(t, "the job is recreated", time.Minute, func() bool {
		again := s.recreated(t, "torn")
		return again.UID != refused.UID && again.Annotations[gpushare.RefusalsAnnotation] != ""
	})
	require.True(t, s.hasEvent(t, "torn", "", "Resources cannot be allocated with Topology locality"))
	s.removed(t, "high")
	eventually(t, "the job runs", 2*time.Minute, func() bool { return s.recreated(t, "torn").Status.Phase == corev1.PodRunning })
	eventually(t, "the job has the core next to its GPU", time.Minute, func() bool {
		sample := s.sample(t, "torn")
		return sample != nil && sample.Sample.ExclusiveCores == 1
	})
}

// recreated returns a pod, or an empty one between its deletion and its creation.
func (s *stage) recreated(t *testing.T, name string) *corev1.Pod {
	pod, err := s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return &corev1.Pod{}
	}
	return pod
}

// removed deletes pods and waits until they are gone.
func (s *stage) removed(t *testing.T, names ...string) {
	t.Helper()
	s.remove(t, names...)
	for _, name := range names {
		require.Eventually(t, func() bool { return s.gone(name) }, time.Minute, 200*time.Millisecond, name)
	}
}

// gone reports whether a pod does not exist.
func (s *stage) gone(name string) bool {
	_, err := s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).Get(context.Background(), name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

// longNames has two jobs in a namespace of 63 characters. Their names, of which kubelet makes the longest folders that a file
// system allows, differ in the last character.
func (s *stage) longNames(t *testing.T) {
	long := *s
	run := *s.run
	long.run = &run
	run.Setup.Namespace = "research-group-with-a-very-long-name-that-fills-the-63-chars-ok"
	_, err := s.Kubernetes.CoreV1().Namespaces().Create(t.Context(), run.Setup.Room(), metav1.CreateOptions{})
	require.NoError(t, err)
	prefix := "s-" + strings.Repeat("0123456789-", 12) + "lr-0.00"
	names := []string{prefix + "1", prefix + "2"}
	t.Cleanup(func() { long.removed(t, names...) })
	for i, name := range names {
		pod := long.scriptPod(name, "", []string{fallingScript, flatScript}[i], "50m")
		pod.Spec.Containers[0].Name = "trainer-whose-name-is-as-long-as-a-dns-label-may-be-63-in-total"
		withoutScripts(pod)
		long.create(t, pod)
	}
	values := map[string]float64{}
	for _, name := range names {
		eventually(t, "the job is observed", time.Minute, func() bool {
			sample := long.sample(t, name)
			return sample != nil && sample.Sample.Reported
		})
		sample := long.sample(t, name).Sample
		require.Equal(t, growth.PodRef{Namespace: run.Setup.Namespace, Name: name, UID: sample.Pod.UID}, sample.Pod)
		require.Len(t, sample.GPUs, 1)
		values[name] = sample.Value
		eventually(t, "events and annotations have the whole name", time.Minute, func() bool {
			return long.hasEvent(t, name, "JobArrived", "") && long.pod(t, name).Annotations[gpushare.GPUAnnotation] != ""
		})
		require.Contains(t, long.plugin(t, "explain", name, "-n", run.Setup.Namespace), name)
	}
	require.Equal(t, 0.5, values[names[1]], "of the second job, not of the first")
	require.NotEqual(t, 0.5, values[names[0]])
	eventually(t, "the growing job has more CPU", 2*time.Minute, func() bool { return long.milli(t, names[0]) > long.milli(t, names[1]) })
}

// withoutScripts removes the volumes that exist in the namespace of the run only.
func withoutScripts(pod *corev1.Pod) {
	kept := map[string]bool{}
	var volumes []corev1.Volume
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap == nil {
			kept[v.Name] = true
			volumes = append(volumes, v)
		}
	}
	var mounts []corev1.VolumeMount
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		if kept[m.Name] {
			mounts = append(mounts, m)
		}
	}
	pod.Spec.Volumes, pod.Spec.Containers[0].VolumeMounts = volumes, mounts
}
