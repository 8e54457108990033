//go:build e2e && linux

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// hostileProgram prints what it finds in its container, then floods its socket with invalid data.
const hostileProgram = `
import os, random, socket, stat, time
print("PYTHONPATH", os.environ.get("PYTHONPATH"), flush=True)
print("socket", stat.S_ISSOCK(os.stat("/run/gpushare/gpushare.sock").st_mode), flush=True)
import gpushare
print("shim", gpushare.__file__, flush=True)
print("driver", os.environ.get("NVIDIA_VISIBLE_DEVICES"), flush=True)
print("GPU", os.environ.get("GPUSHARE_GPU_UUIDS"), flush=True)
rubbish = [
    os.urandom(65536), b"{" * 4096 + b"\n", b"A" * 1000000, b'{"v":99,"type":"progress"}\n' * 1000, b'{"v":1,"type":"progress","step":-5}\n',
    b'{"v":1,"type":"progress","step":1e999,"metrics":{"loss":"NaN"}}\n', b"\x00" * 4096, b'{"v":1,"type":"ack","gen', b"\n" * 65536,
]
end = time.time() + 25
sent = 0
while time.time() < end:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(1)
            s.connect("/run/gpushare/gpushare.sock")
            for _ in range(50):
                sent += s.send(random.choice(rubbish))
    except OSError:
        time.sleep(0.02)
print("flooded", sent > 1000000, flush=True)
`

func (s *stage) hostileJob(t *testing.T) {
	job := s.jobs[0]
	job.Name, job.GPUMemory = "hostile", "1Gi"
	pod := s.run.Setup.Pod(job)
	pod.Spec.Containers[0].Command = []string{training.MachinePython, "-c", hostileProgram}
	s.create(t, pod)
	eventually(t, "what the job finds in its container", time.Minute, func() bool {
		return s.pod(t, "hostile").Status.Phase == corev1.PodRunning && strings.Contains(s.log(t, "hostile"), "GPU ")
	})
	found := s.log(t, "hostile")
	require.Contains(t, found, "PYTHONPATH /run/gpushare\n")
	require.Contains(t, found, "socket True\n")
	require.Contains(t, found, "shim /run/gpushare/gpushare.py\n")
	require.Contains(t, found, "driver void\n", "there is no driver behind an emulated GPU")
	require.Contains(t, found, "GPU "+s.pod(t, "hostile").Annotations[gpushare.GPUAnnotation]+"\n", "the GPU that the binding names")
}

func (s *stage) hostileJobEnded(t *testing.T) {
	eventually(t, "the flooding job ends", time.Minute, func() bool { return s.pod(t, "hostile").Status.Phase == corev1.PodSucceeded })
	require.Contains(t, s.log(t, "hostile"), "flooded True\n")
	require.True(t, s.hasEvent(t, "hostile", "BadLines", "invalid lines"), "an event reports the invalid messages")
}

// killed kills every process of one binary in this cluster, and waits until as many are back and ready.
func (s *stage) killed(t *testing.T, binary string) {
	before := s.processes(t, binary)
	require.NotEmpty(t, before)
	restarts := s.restarts(t, binary)
	for _, pid := range before {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	eventually(t, binary+" comes back", 2*time.Minute, func() bool {
		now := s.processes(t, binary)
		for _, pid := range before {
			for _, other := range now {
				if pid == other {
					return false
				}
			}
		}
		return len(now) == len(before) && s.allReady(t, binary)
	})
	require.Equal(t, restarts+len(before), s.restarts(t, binary), "it was restarted once each, for no other reason than the kill")
}

// processes returns the processes of a binary in this cluster's cgroups.
func (s *stage) processes(t *testing.T, binary string) []int {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	var pids []int
	for _, folder := range folders {
		command, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		cgroups, _ := os.ReadFile(filepath.Join(folder, "cgroup"))
		program, _, _ := strings.Cut(string(command), "\x00")
		if program != "/"+binary || !strings.Contains(string(cgroups), "/trellis-"+s.local.Name+"/") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(folder))
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

func (s *stage) pods(t *testing.T, binary string) []corev1.Pod {
	t.Helper()
	list, err := s.Kubernetes.CoreV1().Pods(cluster.Namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/name=" + binary,
	})
	require.NoError(t, err)
	return list.Items
}

func (s *stage) restarts(t *testing.T, binary string) (sum int) {
	for _, pod := range s.pods(t, binary) {
		for _, status := range pod.Status.ContainerStatuses {
			if status.Name == binary {
				sum += int(status.RestartCount)
			}
		}
	}
	return sum
}

func (s *stage) allReady(t *testing.T, binary string) bool {
	for _, pod := range s.pods(t, binary) {
		for _, status := range pod.Status.ContainerStatuses {
			if !status.Ready {
				return false
			}
		}
	}
	return true
}

// hasEvent reports whether a pod has an event that contains text; an empty reason matches any.
func (s *stage) hasEvent(t *testing.T, pod, reason, text string) bool {
	t.Helper()
	return s.event(t, pod, reason, text) != ""
}

// event returns the text of the first of these events, or nothing.
func (s *stage) event(t *testing.T, pod, reason, text string) string {
	t.Helper()
	var all cluster.Stories
	stories, err := all.New(context.WithoutCancel(t.Context()), s.Connection, s.run.Setup.Namespace)
	require.NoError(t, err)
	for _, story := range stories {
		if story.Object == pod && (reason == "" || story.Reason == reason) && strings.Contains(story.Text, text) {
			return story.Text
		}
	}
	return ""
}
