package training_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

var (
	start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	job   = workload.Job{
		Name: "vae-1", Kind: "vae", Steps: 900, Batch: 64, GPUMemory: "8Gi", CPU: 150, Metric: "loss:min", Progress: "log:loss=(.+)", Seed: 1,
	}
)

// TestPod_IsWhatAUserWouldWrite compares the whole pod: an additional field would be help that a user does not have.
func TestPod_IsWhatAUserWouldWrite(t *testing.T) {
	setup := training.Setup{
		Namespace: "demo", Run: "demo-1", Image: "trellis.local/machine:1", Python: "/usr/bin/python3", MachineFolders: []string{"/usr", "/etc"},
	}
	got, err := yaml.Marshal(setup.Pod(job))
	require.NoError(t, err)
	golden := filepath.Join("testdata", "pod.yaml")
	if *update {
		require.NoError(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestPod_ComputesOnAnEmulatedGPU(t *testing.T) {
	on := workload.Job{Name: "on", Kind: "mlp", Progress: "socket", Device: workload.Emulated, Further: []string{"--preprocess", "0"}}
	off := workload.Job{Name: "off", Kind: "mlp", Progress: "socket", Device: workload.CPU}
	expression := func(pod *corev1.Pod) corev1.NodeSelectorRequirement {
		return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0]
	}
	setup := training.Setup{Computing: []string{"node-2"}}
	pod := setup.Pod(on)
	require.Equal(t, "gpu-time,loaders", pod.Annotations[gpushare.TuneAnnotation])
	command := pod.Spec.Containers[0].Command
	require.Equal(t, []string{"--device", "emulated", "--preprocess", "0.1", "--preprocess", "0"}, command[len(command)-6:], "its own arguments are last")
	require.Equal(t, corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"node-2"}}, expression(pod))

	pod = training.Setup{Computing: []string{"node-2"}, NeedCPU: true}.Pod(on)
	require.NotContains(t, pod.Annotations, gpushare.TuneAnnotation, "its CPU changes too")
	command = pod.Spec.Containers[0].Command
	require.Equal(t, []string{"--device", "emulated", "--preprocess", "0"}, command[len(command)-4:])

	pod = setup.Pod(off)
	require.NotContains(t, pod.Annotations, gpushare.TuneAnnotation)
	require.NotContains(t, pod.Spec.Containers[0].Command, "--device")
	require.Equal(t, corev1.NodeSelectorOpNotIn, expression(pod).Operator)

	pod = training.Setup{}.Pod(on)
	require.NotContains(t, pod.Spec.Containers[0].Command, "--device", "no GPU of this cluster computes")
	require.Nil(t, pod.Spec.Affinity)
}

func TestPod_RanksAndLoaders(t *testing.T) {
	pod := training.Setup{}.Pod(workload.Job{Name: "four", Kind: "ddp", GPUs: 4, Progress: "socket"})
	command := pod.Spec.Containers[0].Command
	require.Equal(t, []string{"--ranks", "4"}, command[len(command)-2:])
	require.Equal(t, "4", pod.Annotations[gpushare.CountAnnotation])
	pod = training.Setup{}.Pod(workload.Job{Name: "one", Kind: "cnn", Workers: 6, Progress: "socket"})
	require.Contains(t, strings.Join(pod.Spec.Containers[0].Command, " "), "--workers 6")
	require.NotContains(t, pod.Annotations, gpushare.CountAnnotation)
}

func TestPod_GoesToItsNode(t *testing.T) {
	setup := training.Setup{Nodes: map[string]string{"assigned": "node-2"}}
	require.Equal(t, map[string]string{corev1.LabelHostname: "node-2"}, setup.Pod(workload.Job{Name: "assigned"}).Spec.NodeSelector)
	require.Empty(t, setup.Pod(workload.Job{Name: "free"}).Spec.NodeSelector)
}

func TestReading_PrefersTheShim(t *testing.T) {
	shim := job
	shim.Progress = "socket"
	require.Contains(t, training.Setup{}.Pod(shim).Spec.Containers[0].Command, "shim")
}

func pod(phase corev1.PodPhase, node string, state corev1.ContainerState) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "vae-1", UID: types.UID("uid-1"), CreationTimestamp: metav1.NewTime(start),
			Annotations: map[string]string{gpushare.GPUAnnotation: "GPU-1"},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
		}}}},
		Status: corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
			State: state, RestartCount: 1,
			Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("150m")}},
		}}},
	}
}

func TestReading_OfAPod(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start.Add(3 * time.Second))}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		StartedAt: metav1.NewTime(start.Add(3 * time.Second)), FinishedAt: metav1.NewTime(start.Add(63 * time.Second)),
	}}
	crashed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for name, tc := range map[string]struct {
		pods      []corev1.Pod
		submitted int
		want      timeline.State
		took      time.Duration
	}{
		"not submitted":            {nil, 0, timeline.Expected, 0},
		"deleted by somebody":      {nil, 1, timeline.Gone, 0},
		"not bound":                {[]corev1.Pod{pod(corev1.PodPending, "", waiting)}, 1, timeline.Pending, 0},
		"bound":                    {[]corev1.Pod{pod(corev1.PodPending, "n1", waiting)}, 1, timeline.Starting, 0},
		"running":                  {[]corev1.Pod{pod(corev1.PodRunning, "n1", running)}, 1, timeline.Running, 0},
		"between two attempts":     {[]corev1.Pod{pod(corev1.PodRunning, "n1", waiting)}, 1, timeline.Starting, 0},
		"ended well, a moment ago": {[]corev1.Pod{pod(corev1.PodRunning, "n1", ended)}, 1, timeline.Running, 0},
		"ended badly, its container starts again": {[]corev1.Pod{pod(corev1.PodRunning, "n1", crashed)}, 1, timeline.Starting, 0},
		"finished": {[]corev1.Pod{pod(corev1.PodSucceeded, "n1", ended)}, 1, timeline.Finished, 63 * time.Second},
		"failed":   {[]corev1.Pod{pod(corev1.PodFailed, "n1", ended)}, 1, timeline.Failed, 63 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := training.Reading(workload.Workload{job}, tc.submitted, training.Sight{At: start, Pods: tc.pods})
			require.Len(t, r.Jobs, 1)
			require.Equal(t, tc.want, r.Jobs[0].State)
			require.Equal(t, tc.took, r.Jobs[0].Completion())
			if len(tc.pods) > 0 {
				require.EqualValues(t, 150, r.Jobs[0].Request, "what kubelet has applied, not what was asked for")
				require.EqualValues(t, "GPU-1", r.Jobs[0].GPU)
				require.Equal(t, 1, r.Jobs[0].Restarts)
			}
		})
	}
}

func TestReading_OfASample(t *testing.T) {
	loaders := 2
	sight := training.Sight{
		Pods: []corev1.Pod{pod(corev1.PodRunning, "n1", corev1.ContainerState{})},
		State: cluster.State{
			Nodes: []cluster.NodeState{{Name: "n1", GPUs: &bus.NodeGPUs{Emulated: true, GPUs: []bus.GPU{{UUID: "GPU-1"}}}}, {Name: "n2"}},
			Jobs: []cluster.JobState{
				{Sample: bus.Sample{Pod: growth.PodRef{Name: "vae-1", UID: "another uid"}, Step: 1}},
				{
					Sample: bus.Sample{Pod: growth.PodRef{Name: "vae-1", UID: "uid-1"}, Step: 420, Reported: true, Loaders: &loaders, Applied: 3,
						GPUTime: &bus.GPUTime{Share: .75}},
					Advice: &bus.Advice{Reason: "because"},
				},
			},
		},
	}
	r := training.Reading(workload.Workload{job}, 1, sight)
	require.Len(t, r.Nodes, 2)
	require.True(t, r.Nodes[0].Emulated)
	require.EqualValues(t, 420, r.Jobs[0].Step, "a pod of the same name is another job")
	require.Zero(t, r.Jobs[0].Steps, "where a log is all there is, lines are counted, not steps")
	require.Equal(t, "because", r.Jobs[0].Advice)
	require.EqualValues(t, .75, *r.Jobs[0].GPUShare)

	sight.Unavailable = errors.New("no tuner")
	require.Equal(t, "no tuner", training.Reading(workload.Workload{job}, 1, sight).Unavailable)
}
