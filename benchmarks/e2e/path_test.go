//go:build e2e && linux

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestTrellis_FromAnnotationToFinishedJob(t *testing.T) {
	s := newStage(t)
	type outcome struct {
		line *timeline.Timeline
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		line, err := s.run.Watch(t.Context())
		done <- outcome{line, err}
	}()

	t.Run("invalid annotations are refused with a sentence", s.invalidAnnotationsAreRefused)
	t.Run("a pod that fits no GPU waits, and an event says why", s.tooLargeWaits)
	t.Run("the annotation becomes the container's limit", s.limitIsSet)
	t.Run("kubelet gave the GPU that the binding names", s.allocationIsTheBinding)
	t.Run("a container finds its socket and the shim, and may flood it", s.hostileJob)
	t.Run("a resize reaches the cgroup", s.resizeReachesTheCgroup)
	t.Run("kubectl gpushare shows the jobs", s.pluginShowsJobs)
	for _, binary := range []string{"coordinator", "deviceplugin", "extender", "tuner"} {
		t.Run("kill -9 of every "+binary, func(t *testing.T) { s.killed(t, binary) })
	}

	end := <-done
	require.NoError(t, end.err)
	require.NoError(t, results.Failures(end.line), "every job finishes in spite of the kills")
	for _, job := range end.line.Last().Jobs {
		require.Zero(t, job.Restarts, "%s was restarted", job.Name)
	}
	s.changesWereSeen(t, end.line)
	t.Run("the flooding job ended by itself", s.hostileJobEnded)
}

// invalidAnnotationsAreRefused creates pods that the validating policy must refuse. The messages name the annotation.
func (s *stage) invalidAnnotationsAreRefused(t *testing.T) {
	for annotation, values := range map[string][]string{
		gpushare.MemoryAnnotation:   {"-8Gi", "lots", "0", "9999Ti"},
		gpushare.MetricAnnotation:   {"loss:down"},
		gpushare.ProgressAnnotation: {"carrier-pigeon", "log:"},
		gpushare.CountAnnotation:    {"0"},
	} {
		for _, value := range values {
			pod := s.run.Setup.Pod(s.jobs[0])
			pod.Name = "invalid"
			pod.Annotations[annotation] = value
			_, err := s.Kubernetes.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{})
			require.ErrorContains(t, err, "annotation "+annotation, "%s=%q was taken", annotation, value)
		}
	}
}

func (s *stage) tooLargeWaits(t *testing.T) {
	job := s.jobs[0]
	// A node's two GPUs together would have room: no single GPU has it.
	job.Name, job.GPUMemory = "too-large", "25Gi"
	s.create(t, s.run.Setup.Pod(job))
	eventually(t, "an event that names the largest GPU", 30*time.Second, func() bool {
		return s.hasEvent(t, "too-large", "FailedScheduling", gpu.String())
	})
	require.Equal(t, corev1.PodPending, s.pod(t, "too-large").Status.Phase)
	require.NoError(t, s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).Delete(t.Context(), "too-large", metav1.DeleteOptions{}))
}

func (s *stage) limitIsSet(t *testing.T) {
	for _, job := range s.jobs {
		eventually(t, job.Name+" is submitted", 30*time.Second, func() bool {
			_, err := s.Kubernetes.CoreV1().Pods(s.run.Setup.Namespace).Get(t.Context(), job.Name, metav1.GetOptions{})
			return err == nil
		})
		memory, err := gpushare.ParseMemory(job.GPUMemory)
		require.NoError(t, err)
		pod := s.pod(t, job.Name)
		limit := pod.Spec.Containers[0].Resources.Limits[gpushare.Resource]
		require.EqualValues(t, gpushare.Units(memory, growth.GiB), limit.Value(), job.Name)
		require.Equal(t, gpushare.SchedulerName, pod.Spec.SchedulerName)
	}
}

// allocationIsTheBinding compares the pod's annotation with the device plugin's record. The Binding writes the
// annotation first; the coordinator corrects it if kubelet chose another GPU. Every job here has its own size:
// kubelet deviates only if it admits a pod long before the device plugin sees it, which a busy machine may cause
// once.
func (s *stage) allocationIsTheBinding(t *testing.T) {
	strays := 0
	for _, job := range s.jobs {
		var given []growth.GPU
		eventually(t, job.Name+"'s GPU is known to its coordinator", time.Minute, func() bool {
			if sample := s.sample(t, job.Name); sample != nil {
				given = sample.Sample.GPUs
			}
			return len(given) > 0
		})
		require.Len(t, given, 1)
		eventually(t, job.Name+" says which GPU it has: "+string(given[0]), time.Minute, func() bool {
			return s.pod(t, job.Name).Annotations[gpushare.GPUAnnotation] == string(given[0])
		})
		if s.hasEvent(t, job.Name, "OtherGPU", "") {
			t.Logf("kubelet gave %s another GPU than its Binding named", job.Name)
			strays++
		}
	}
	require.LessOrEqual(t, strays, 1, "kubelet is not steered")
}

// resizeReachesTheCgroup finds a job whose request has changed, whose cgroup has the weight of it, and whose
// coordinator has read the same weight.
func (s *stage) resizeReachesTheCgroup(t *testing.T) {
	eventually(t, "a job whose cgroup has another weight than it began with", time.Minute, func() bool {
		for _, job := range s.jobs {
			pod := s.pod(t, job.Name)
			if len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].Resources == nil {
				continue
			}
			request := pod.Status.ContainerStatuses[0].Resources.Requests.Cpu().MilliValue()
			sample := s.sample(t, job.Name)
			if growth.MilliCPU(request) == job.CPU || sample == nil {
				continue
			}
			if weight := s.weightInCgroup(t, pod); weight > 0 && weight == sample.Sample.Weight && (unified() || weight == sharesOf(request)) {
				return true
			}
		}
		return false
	})
}

func (s *stage) changesWereSeen(t *testing.T, line *timeline.Timeline) {
	count := map[timeline.Aspect]int{}
	for _, c := range line.Changes {
		count[c.What]++
	}
	require.Positive(t, count[timeline.ShareChange], "no share was changed")
	require.Positive(t, count[timeline.CategoryChange], "no category was changed")
	require.Positive(t, count[timeline.LoaderChange], "no loaders were changed")
	acknowledged := false
	for _, job := range line.Last().Jobs {
		acknowledged = acknowledged || job.Acknowledged > 0
		require.Positive(t, job.Step, "%s never reported", job.Name)
	}
	require.True(t, acknowledged, "no job acknowledged its loaders")
}

func (s *stage) sample(t *testing.T, name string) *cluster.JobState {
	t.Helper()
	uid := growth.PodUID(s.pod(t, name).UID)
	state, err := s.State(t.Context())
	if err != nil {
		return nil
	}
	for _, j := range state.Jobs {
		if j.Sample.Pod.UID == uid {
			return &j
		}
	}
	return nil
}
