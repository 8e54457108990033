//go:build e2e && linux

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// checkpointFile is kubelet's record of the devices of containers, in the folder of device plugins.
const checkpointFile = "kubelet_internal_checkpoint"

// startTime bounds the time until a job reports.
const startTime = 2 * time.Minute

// reports is a job that reports ten steps a second and does not end by itself. It needs no PyTorch, which loads for a minute on
// a busy core.
const reports = `
import time, gpushare
for step in range(1, 1_000_000):
    gpushare.step(1 / step, step=step, total_steps=1_000_000)
    time.sleep(.1)
`

// damages are the ways in which the record is lost.
var damages = map[string]func(t *testing.T, path string){
	"truncated": func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) },
	"deleted":   func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
	"wrong checksum": func(t *testing.T, path string) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		flipped := strings.Replace(string(text), `"ContainerName":"train"`, `"ContainerName":"brain"`, 1)
		require.NotEqual(t, string(text), flipped)
		require.NoError(t, os.WriteFile(path, []byte(flipped), 0o600))
	},
}

// TestCheckpoint has a kubelet that loses its record of devices while jobs run.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, damage := range damages {
		// Each case has pods of its own: events outlive their pods.
		t.Run(name, func(t *testing.T) { s.checkpointLost(t, strings.ReplaceAll(name, " ", "-"), damage) })
	}
}

// checkpointLost runs a job on each GPU of a node. Its kubelet forgets them. The jobs go on, and no other pod gets their
// units.
func (s *stage) checkpointLost(t *testing.T, prefix string, damage func(t *testing.T, path string)) {
	names := []string{prefix + "-first", prefix + "-second", prefix + "-small", prefix + "-large"}
	small, large := names[2], names[3]
	t.Cleanup(func() {
		s.remove(t, names...)
		s.awaitDeletion(t, names...)
	})
	held := map[string]bool{}
	for _, name := range names[:2] {
		s.create(t, s.longJob(name, "20Gi"))
		eventually(t, name+" trains", startTime, func() bool { return s.step(t, name) > 0 })
		for _, id := range s.ids(t, name) {
			require.False(t, held[id], "%s has an id of another pod", name)
			held[id] = true
		}
	}
	require.Len(t, held, 40, "20 units of each of the two GPUs")

	damage(t, s.checkpoint(t))
	require.NoError(t, s.local.RestartKubelet(t.Context(), "node-1"))
	s.create(t, s.longJob(small, "4Gi"))
	eventually(t, "a job that fits next to the others trains", startTime, func() bool { return s.step(t, small) > 0 })
	found := s.ids(t, small)
	require.Len(t, found, 4)
	for _, id := range found {
		require.False(t, held[id], "unit %s is that of a running job", id)
	}
	s.create(t, s.longJob(large, "5Gi"))
	eventually(t, "a job that does not fit waits", time.Minute, func() bool { return s.hasEvent(t, large, "FailedScheduling", "") })
	require.Equal(t, corev1.PodPending, s.pod(t, large).Status.Phase)
	s.forgottenJobsGoOn(t, names[:2])
}

// forgottenJobsGoOn checks that jobs train on through their sockets, and that events and the metric report them.
func (s *stage) forgottenJobsGoOn(t *testing.T, names []string) {
	for _, name := range names {
		eventually(t, "an event says what kubelet has lost", time.Minute, func() bool {
			return s.hasEvent(t, name, "DevicesForgotten", "Kubelet has lost its record of the 20GiB")
		})
		before := s.step(t, name)
		eventually(t, name+"'s step moves", time.Minute, func() bool { return s.step(t, name) > before+1 })
		require.Equal(t, corev1.PodRunning, s.pod(t, name).Status.Phase)
		require.Zero(t, s.restartsOf(t, name))
		require.Empty(t, s.event(t, name, "JobRestarted", ""))
	}
	require.Contains(t, s.pluginMetrics(t, "node-1"), "trellis_deviceplugin_units_forgotten 40\n")
}

// longJob returns a job on node-1 that reports through its socket and does not end by itself. Its CPU is not tuned: of jobs
// with so many steps, the policy serves some with a hundredth of a core.
func (s *stage) longJob(name, memory string) *corev1.Pod {
	job := s.jobs[0]
	job.Name, job.GPUMemory, job.CPU = name, memory, 100
	pod := s.run.Setup.Pod(job)
	pod.Spec.Containers[0].Command = []string{s.run.Setup.Python, "-c", reports}
	pod.Annotations[gpushare.TuneAnnotation] = string(gpushare.TuneLoaders)
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node-1"}
	return pod
}

// step returns the step of a job's latest sample.
func (s *stage) step(t *testing.T, name string) int64 {
	t.Helper()
	if sample := s.sample(t, name); sample != nil {
		return sample.Sample.Step
	}
	return 0
}

func (s *stage) awaitDeletion(t *testing.T, names ...string) {
	var all cluster.State
	eventually(t, "the pods and their samples are gone", time.Minute, func() bool {
		var err error
		all, err = s.State(context.WithoutCancel(t.Context()))
		if err != nil {
			return false
		}
		for _, j := range all.Jobs {
			for _, name := range names {
				if j.Sample.Pod.Name == name {
					return false
				}
			}
		}
		return true
	})
}

func (s *stage) checkpoint(t *testing.T) string {
	t.Helper()
	status, err := s.local.Status(t.Context())
	require.NoError(t, err)
	return filepath.Join(status.Folder, "nodes", "node-1", "kubelet", "device-plugins", checkpointFile)
}

// ids returns the device ids of a pod by kubelet's checkpoint. Kubelet writes it before it starts the pod.
func (s *stage) ids(t *testing.T, name string) (ids []string) {
	t.Helper()
	text, err := os.ReadFile(s.checkpoint(t))
	require.NoError(t, err)
	var content struct {
		Data struct {
			PodDeviceEntries []struct {
				PodUID       growth.PodUID
				ResourceName string
				DeviceIDs    map[string][]string
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &content))
	uid := growth.PodUID(s.pod(t, name).UID)
	for _, e := range content.Data.PodDeviceEntries {
		if e.PodUID != uid || e.ResourceName != gpushare.Resource {
			continue
		}
		for _, node := range e.DeviceIDs {
			ids = append(ids, node...)
		}
	}
	return ids
}

// pluginMetrics returns the metrics of a node's device plugin.
func (s *stage) pluginMetrics(t *testing.T, node string) string {
	t.Helper()
	for _, pod := range s.pods(t, "deviceplugin") {
		if pod.Spec.NodeName == node {
			text, err := s.Kubernetes.CoreV1().Pods(pod.Namespace).ProxyGet("http", pod.Name, "9441", "/metrics", nil).DoRaw(t.Context())
			require.NoError(t, err)
			return string(text)
		}
	}
	t.Fatalf("%s has no device plugin", node)
	return ""
}
