package recreate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/extender/internal/recreate"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/peaks"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// tuned returns a pod with two containers. The CPU of both was tuned, and the memory of the one that trains.
func tuned(annotations map[string]string) *corev1.Pod {
	pod := rejected()
	for name, value := range annotations {
		pod.Annotations[name] = value
	}
	pod.Spec.Containers[0].Resources.Requests = resources("250m", "256Mi")
	pod.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU] = resource.MustParse("800m")
	pod.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse("4Gi")
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "side"})
	pod.Spec.Containers[1].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")}
	return pod
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

// requests returns the requests of a container, as a user writes them.
func requests(c corev1.Container) map[corev1.ResourceName]string {
	written := map[corev1.ResourceName]string{}
	for name, quantity := range c.Resources.Requests {
		written[name] = quantity.String()
	}
	return written
}

func TestCopy_RestoresRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		cpu, memory            string // annotations
		train, training, aside string // CPU, memory, CPU
	}{
		"nothing was tuned":            {"", "", "250m", "256Mi", "50m"},
		"CPU was":                      {"train=500m,side=100m", "", "500m", "256Mi", "100m"},
		"memory was":                   {"", "train=1024Mi", "250m", "1Gi", "50m"},
		"both were":                    {"train=0.5,side=1m", "train=128Mi", "500m", "128Mi", "1m"},
		"more than the limit":          {"train=2,side=2", "train=8192Mi", "800m", "4Gi", "2"},
		"of a container of another":    {"train=500m,other=100m", "other=1024Mi", "250m", "256Mi", "50m"},
		"of a container without any":   {"", "side=1024Mi", "250m", "256Mi", "50m"},
		"no numbers":                   {"train=lots,side=100m", "train=lots", "250m", "256Mi", "50m"},
		"negative numbers":             {"train=-1,side=100m", "train=-1Mi", "250m", "256Mi", "50m"},
		"zero":                         {"train=0,side=100m", "train=0", "250m", "256Mi", "50m"},
		"an annotation without a name": {"500m", "1024Mi", "250m", "256Mi", "50m"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := tuned(map[string]string{gpushare.RequestAnnotation: tc.cpu, gpushare.MemoryRequestAnnotation: tc.memory})
			before := pod.DeepCopy()
			copied := recreate.Copy(pod)
			require.Equal(t, before, pod, "the original is unchanged")
			train, side := copied.Spec.Containers[0], copied.Spec.Containers[1]
			require.Equal(t, map[corev1.ResourceName]string{"cpu": tc.train, "memory": tc.training}, requests(train))
			require.Equal(t, map[corev1.ResourceName]string{"cpu": tc.aside}, requests(side))
			require.Equal(t, before.Spec.Containers[0].Resources.Limits, train.Resources.Limits)
		})
	}
}

// The annotations are read as a node writes them that tunes the CPU and the memory of a job.
func TestCopy_ReadsWhatANodeWrites(t *testing.T) {
	now, ref := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC), growth.PodRef{Namespace: "team", Name: "job", UID: "old"}
	pod := node.Pod{
		Ref:         ref,
		Running:     true,
		Annotations: map[string]string{gpushare.MemoryAnnotation: "8Gi", gpushare.TuneAnnotation: "resources"},
		Containers:  []node.Container{{Name: "train", Request: 500}, {Name: "side", Request: 100}},
		Memory:      node.PodMemory{Container: "train", Request: 1024, Limit: 4096, Allocated: 1024},
	}
	written := map[string]string{gpushare.RequestAnnotation: pod.FormatRequests(pod.Requests())}
	n := node.New(node.Config{Policy: policy.Fair, Interval: 10 * time.Second, Alpha: 0.05, Beta: 2})
	step := func(e node.Event) {
		for _, r := range n.Step(now, e).MemoryResizes {
			written[gpushare.MemoryRequestAnnotation] = r.Original
		}
	}
	step(node.AdviceChanged{Advice: map[growth.PodUID]bus.Advice{ref.UID: {Resources: &peaks.Recommendation{
		Memory: &peaks.Request{Request: 256, Low: 7, Likely: 8, High: 200},
	}}}})
	step(node.PodUpdated{Pod: pod})
	step(node.AllocationsChanged{Synced: true, Allocations: []bus.Allocation{{Pod: ref, Containers: []bus.ContainerAllocation{{
		Name: "train", Slot: "slot", GPUs: []growth.GPUShare{{GPU: "GPU-1", Memory: 8 * growth.GiB}},
	}}}}})
	for range 30 {
		now = now.Add(10 * time.Second)
		usage := node.Usage{CPUKnown: true, CPU: growth.Seconds(now.Unix()), Memory: 7}
		step(node.Ticked{Usages: map[growth.PodUID]node.Usage{ref.UID: usage}})
	}
	require.Len(t, written, 2, "the node has tuned the memory")
	copied := recreate.Copy(tuned(written))
	require.Equal(t, map[corev1.ResourceName]string{"cpu": "500m", "memory": "1Gi"}, requests(copied.Spec.Containers[0]))
	require.Equal(t, map[corev1.ResourceName]string{"cpu": "100m"}, requests(copied.Spec.Containers[1]))
}
