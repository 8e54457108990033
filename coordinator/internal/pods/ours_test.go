package pods_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestOurs_ByAnnotationOrLimit(t *testing.T) {
	const other = "example.com/gpu-mem"
	limit := func(p *corev1.Pod, name corev1.ResourceName, units string) {
		p.Annotations = nil
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{name: resource.MustParse(units)}
	}
	for name, tc := range map[string]struct {
		change         func(*corev1.Pod)
		ours, byLimits bool
	}{
		"an annotation":            {func(*corev1.Pod) {}, true, false},
		"a limit alone":            {func(p *corev1.Pod) { limit(p, gpushare.Resource, "4") }, true, true},
		"a limit of zero":          {func(p *corev1.Pod) { limit(p, gpushare.Resource, "0") }, false, true},
		"a limit of other devices": {func(p *corev1.Pod) { limit(p, other, "4") }, false, true},
		"a static pod": {func(p *corev1.Pod) {
			limit(p, gpushare.Resource, "4")
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "m"}
		}, false, true},
		"nothing": {func(p *corev1.Pod) { p.Annotations = nil }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(container("train", "500m", ""))
			tc.change(p)
			require.Equal(t, tc.ours, pods.Ours(p, gpushare.Resource))
			require.Equal(t, tc.byLimits, pods.Read(p).ByLimits)
		})
	}
	p := pod(container("train", "500m", ""))
	limit(p, other, "4")
	require.True(t, pods.Ours(p, other), "the resource is configurable")
}

// A container whose memory keeps the pod Burstable may request all of its CPU limit.
func TestRead_Burstable(t *testing.T) {
	memory := func(request, limit string) corev1.Container {
		c := container("train", "1", "1")
		if request != "" {
			c.Resources.Requests[corev1.ResourceMemory] = resource.MustParse(request)
		}
		if limit != "" {
			c.Resources.Limits[corev1.ResourceMemory] = resource.MustParse(limit)
		}
		return c
	}
	for name, tc := range map[string]struct {
		container corev1.Container
		want      bool
	}{
		"no memory limit":        {memory("1Gi", ""), true},
		"a larger memory limit":  {memory("1Gi", "2Gi"), true},
		"equal memory":           {memory("1Gi", "1Gi"), false},
		"only a memory limit":    {memory("", "1Gi"), false},
		"nothing set for memory": {memory("", ""), true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, pods.Read(pod(tc.container)).Burstable)
		})
	}
}
