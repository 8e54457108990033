//go:build e2e && linux

package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// gapsScript is a job that uses its GPU for a quarter of each step, as one that is bound by launches. It waits within the step, so
// Trellis can only measure that. It needs no PyTorch.
const gapsScript = `
import os, time, gpushare
os.sched_setaffinity(0, {int(os.environ["GPUSHARE_EMULATED_CORE"].split(",")[0])})
for step in range(1, %[1]d + 1):
    for _ in range(10):
        until = time.thread_time() + .0005
        while time.thread_time() < until:
            pass
        time.sleep(.0015)
    gpushare.step(step=step, total_steps=%[1]d)
`

// gaps returns a job that runs gapsScript.
func (s *stage) gaps(name string, steps int) *corev1.Pod {
	pod := s.longJob(name, "1Gi")
	pod.Spec.Containers[0].Command = []string{s.run.Setup.Python, "-c", fmt.Sprintf(gapsScript, steps)}
	pod.Annotations[gpushare.TuneAnnotation] = string(gpushare.TuneGPUTime)
	return pod
}

// jobsWithGapsComputeTogether has two jobs that would take turns, and do nearly twice as much at the same time.
func (s *stage) jobsWithGapsComputeTogether(t *testing.T) {
	t.Cleanup(func() { s.remove(t, "gaps-1", "gaps-2") })
	s.create(t, s.gaps("gaps-1", 10_000))
	s.create(t, s.gaps("gaps-2", 100_000))
	eventually(t, "the node has measured that they do more at the same time", 3*time.Minute, func() bool {
		return s.hasEvent(t, "gaps-1", "GPUSharedAtTheSameTime", "all of them together more than in turns") &&
			s.hasEvent(t, "gaps-2", "GPUSharedAtTheSameTime", "all of them together more than in turns")
	})
}
