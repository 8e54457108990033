package request_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/placement"
)

func container(name, units string) corev1.Container {
	return corev1.Container{
		Name: name, Image: "trainer", Env: []corev1.EnvVar{{Name: "A", Value: "b"}},
		Resources: corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{gpushare.Resource: resource.MustParse(units)},
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		},
	}
}

func pod() *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	sidecar := container("cache", "2")
	sidecar.RestartPolicy = &always
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "p", UID: "u", ResourceVersion: "7", Labels: map[string]string{"app": "x"},
			Annotations: map[string]string{
				gpushare.MemoryAnnotation: "8Gi", gpushare.CountAnnotation: "2", gpushare.GPUAnnotation: "GPU-a, GPU-b,,GPU-a", "other": "x",
			},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Spec: corev1.PodSpec{
			NodeName: "n", Priority: new(int32(7)), InitContainers: []corev1.Container{sidecar, container("warm", "4")},
			Containers: []corev1.Container{container("train", "14"), {Name: "log"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func TestRead(t *testing.T) {
	got, requests := request.Read(pod(), gpushare.Resource)
	require.True(t, requests)
	require.Equal(t, request.Pod{
		Ref: growth.PodRef{Namespace: "ns", Name: "p", UID: "u"}, ResourceVersion: "7", Node: "n", GPUs: []growth.GPU{"GPU-a", "GPU-b"},
		Priority: 7, Labels: map[string]string{"app": "x"}, Memory: 2 * growth.GiB,
		Request: placement.Request{Memory: 8 * growth.GiB, Count: 2, CPU: 3000, Containers: []placement.Container{
			{Name: "cache", Units: 2, Role: placement.Sidecar}, {Name: "warm", Units: 4, Role: placement.Init}, {Name: "train", Units: 14},
		}},
	}, got)
}

func TestRead_Requests(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(*corev1.Pod)
		requests bool
		invalid  string
	}{
		"annotation and limit":         {func(*corev1.Pod) {}, true, ""},
		"another resource":             {func(p *corev1.Pod) { p.Annotations, p.Spec = nil, corev1.PodSpec{} }, false, ""},
		"limit alone":                  {func(p *corev1.Pod) { p.Annotations = nil }, true, ""},
		"limit and another annotation": {func(p *corev1.Pod) { delete(p.Annotations, gpushare.MemoryAnnotation) }, true, "annotation gpushare/gpu-mem is missing"},
		"invalid annotation":           {func(p *corev1.Pod) { p.Annotations[gpushare.CountAnnotation] = "-1" }, true, "from 1 to 64"},
		"overflow":                     {func(p *corev1.Pod) { p.Spec.Containers[0] = container("train", "9223372036854775807") }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod()
			tc.change(p)
			got, requests := request.Read(p, gpushare.Resource)
			require.Equal(t, tc.requests, requests)
			if tc.invalid != "" {
				require.ErrorContains(t, got.Invalid, tc.invalid)
				return
			}
			require.NoError(t, got.Invalid)
			if requests {
				memory, status := got.Request.MemoryPerGPU(growth.GiB)
				require.True(t, status.Fits())
				require.Positive(t, memory)
			}
		})
	}
}

// A pod that asks by its containers' limits alone holds that memory, on one GPU, also after its user has annotated it.
func TestRead_KeepsTheRequestByLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations         map[string]string
		cannotSave, elastic bool
		invalid             string
	}{
		"no annotation":       {},
		"it is paused":        {annotations: map[string]string{gpushare.PausedAnnotation: "true"}},
		"it is asked to save": {annotations: map[string]string{gpushare.SaveAnnotation: "now"}},
		"it is asked to move": {annotations: map[string]string{gpushare.MoveAnnotation: "any"}},
		"it has a deadline":   {annotations: map[string]string{gpushare.DeadlineAnnotation: "6h"}},
		"it cannot save":      {annotations: map[string]string{gpushare.CheckpointAnnotation: "none"}, cannotSave: true},
		"it is elastic": {
			annotations: map[string]string{gpushare.ElasticAnnotation: "1-4", gpushare.TuneAnnotation: "workers"}, elastic: true,
		},
		"one GPU": {annotations: map[string]string{gpushare.CountAnnotation: "1"}},
		"several GPUs, without the memory on each": {
			annotations: map[string]string{gpushare.CountAnnotation: "2"}, invalid: "annotation gpushare/gpu-mem is missing",
		},
		"an invalid value": {
			annotations: map[string]string{gpushare.PriorityAnnotation: "20"}, invalid: "annotation gpushare/priority",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod()
			p.Annotations = tc.annotations
			got, requests := request.Read(p, gpushare.Resource)
			require.True(t, requests)
			require.Equal(t, placement.Request{Count: 1, CPU: 3 * growth.Core, Containers: []placement.Container{
				{Name: "cache", Units: 2, Role: placement.Sidecar}, {Name: "warm", Units: 4, Role: placement.Init}, {Name: "train", Units: 14},
			}}, got.Request)
			memory, status := got.Request.MemoryPerGPU(growth.GiB)
			require.True(t, status.Fits(), status.Reason)
			require.Equal(t, 16*growth.GiB, memory)
			require.Equal(t, []bool{tc.cannotSave, tc.elastic}, []bool{got.CannotSave, got.Elastic})
			if tc.invalid == "" {
				require.NoError(t, got.Invalid)
				return
			}
			require.ErrorContains(t, got.Invalid, tc.invalid)
		})
	}
}
