//go:build e2e && linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
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

// jobsWithGapsComputeTogether has two jobs that would take turns, and do nearly twice as much at the same time. One is there
// until the end.
func (s *stage) jobsWithGapsComputeTogether(t *testing.T) {
	t.Cleanup(func() { s.remove(t, "gaps-1") })
	defer func() {
		if t.Failed() {
			t.Log(s.plugin(t, "explain", "gaps-1", "-n", s.run.Setup.Namespace))
		}
	}()
	s.create(t, s.gaps("gaps-1", 20_000))
	s.create(t, s.gaps("gaps-2", 100_000))
	eventually(t, "the node has measured that they do more at the same time", 3*time.Minute, func() bool {
		return s.hasEvent(t, "gaps-1", "GPUSharedAtTheSameTime", "all of them together more than in turns") &&
			s.hasEvent(t, "gaps-2", "GPUSharedAtTheSameTime", "all of them together more than in turns")
	})
}

// placementUsesMeasuredSpeeds asks the extender about a job next to one with which its kind was measured. The measurement has gone
// from the node through the bus to the tuner, and from its model to the extender.
func (s *stage) placementUsesMeasuredSpeeds(t *testing.T) {
	t.Cleanup(func() { s.remove(t, "gaps-2") })
	eventually(t, "the tuner has learned how jobs with gaps slow each other down", 3*time.Minute, func() bool {
		return s.learnedWithItself(t, "gaps-2")
	})
	var found []prediction
	defer func() { t.Logf("the extender's predictions: %+v", found) }()
	eventually(t, "the extender predicts a slowdown from what was measured", time.Minute, func() bool {
		found = s.predictions(t, s.gaps("gaps-3", 10_000))
		return slices.ContainsFunc(found, func(p prediction) bool { return p.Source == "measured together" })
	})
}

// learnedWithItself reports whether the tuner's model has a measurement of two jobs of the kind of a running one.
func (s *stage) learnedWithItself(t *testing.T, name string) bool {
	body, err := s.Proxy(t.Context(), cluster.Namespace, cluster.Tuner, "http", "/api/v1/interference")
	if err != nil {
		return false
	}
	defer body.Close()
	var learned struct {
		Kinds []struct {
			Kind string   `json:"kind"`
			Jobs []string `json:"jobs"`
		} `json:"kinds"`
		Pairs []struct {
			Own      string   `json:"own"`
			Others   []string `json:"others"`
			Measured float64  `json:"measured"`
		} `json:"pairs"`
	}
	require.NoError(t, json.NewDecoder(io.LimitReader(body, 1<<20)).Decode(&learned))
	for _, kind := range learned.Kinds {
		for _, pair := range learned.Pairs {
			if slices.Contains(kind.Jobs, s.run.Setup.Namespace+"/"+name) && pair.Own == kind.Kind && slices.Equal(pair.Others, []string{kind.Kind}) {
				return pair.Measured >= 1
			}
		}
	}
	return false
}

// prediction is the part of the extender's explanation that is about one job on a GPU.
type prediction struct{ Pod, Kind, Source string }

// askScript asks an extender in its network namespace as kube-scheduler does, and then why.
const askScript = `
import sys, urllib.request
def ask(path, body=None):
    request = urllib.request.Request("http://127.0.0.1:12346" + path, body, {"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=10).read().decode()
question = sys.stdin.buffer.read()
ask("/filter", question)
ask("/prioritize", question)
print(ask(sys.argv[1]))
`

// predictions asks the extender for the points of the only node, and why. kube-scheduler asks for points only where it has a choice, so
// the test asks in its place, for a pod that was admitted and not created.
func (s *stage) predictions(t *testing.T, pod *corev1.Pod) (all []prediction) {
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	pod, err := s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).Create(t.Context(), pod, dry)
	require.NoError(t, err)
	question, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{"node-1"}})
	require.NoError(t, err)
	extender := strconv.Itoa(s.processes(t, "extender")[0])
	ask := exec.CommandContext(t.Context(), "nsenter", "--net", "--target", extender, s.run.Setup.Python, "-c", askScript,
		"/explain/"+pod.Namespace+"/"+pod.Name+"?output=json")
	ask.Stdin, ask.Stderr = bytes.NewReader(question), os.Stderr
	answer, err := ask.Output()
	require.NoError(t, err)
	var explanation struct {
		Nodes []struct {
			GPUs []struct {
				Jobs []prediction `json:"jobs"`
			} `json:"gpus"`
		} `json:"nodes"`
	}
	require.NoError(t, json.Unmarshal(answer, &explanation))
	for _, node := range explanation.Nodes {
		for _, gpu := range node.GPUs {
			all = append(all, gpu.Jobs...)
		}
	}
	if all == nil {
		t.Log(string(answer))
	}
	return all
}
