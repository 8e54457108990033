//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// unified reports whether the machine's CPU controller is cgroup v2's.
func unified() bool {
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	return err == nil
}

// weightInCgroup reads a pod's CPU weight from the cgroup, independently of Kubernetes.
func (s *stage) weightInCgroup(t *testing.T, pod *corev1.Pod) int64 {
	t.Helper()
	hierarchy, file := "/sys/fs/cgroup/cpu*", "cpu.shares"
	if unified() {
		hierarchy, file = "/sys/fs/cgroup", "cpu.weight"
	}
	found, err := filepath.Glob(filepath.Join(hierarchy, "trellis-"+s.local.Name, pod.Spec.NodeName, "kubepods", "*", "pod"+string(pod.UID), "*", file))
	if err != nil || len(found) == 0 {
		return 0
	}
	// The sandbox has its own cgroup, with the lowest weight.
	most := int64(0)
	for _, path := range found {
		text, _ := os.ReadFile(path)
		weight, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		most = max(most, weight)
	}
	return most
}

// sharesOf returns the cgroup v1 weight for a CPU request. That of cgroup v2 depends on the container runtime's
// version.
func sharesOf(milli int64) int64 { return max(milli*1024/1000, 2) }
