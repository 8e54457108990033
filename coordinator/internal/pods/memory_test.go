package pods_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
)

func remembering(request, limit string) corev1.Container {
	c := container("train", "500m", "")
	if request != "" {
		c.Resources.Requests[corev1.ResourceMemory] = resource.MustParse(request)
	}
	if limit != "" {
		c.Resources.Limits[corev1.ResourceMemory] = resource.MustParse(limit)
	}
	return c
}

func TestRead_Memory(t *testing.T) {
	restarting := remembering("1Gi", "")
	restarting.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}}
	for name, tc := range map[string]struct {
		pod            *corev1.Pod
		request, limit growth.MiB
		fixed          string
	}{
		"a request":                       {pod(remembering("1Gi", "")), 1024, 0, ""},
		"a request below a limit":         {pod(remembering("1500000000", "2Gi")), 1431, 2048, ""},
		"a request that equals its limit": {pod(remembering("1Gi", "1Gi")), 1024, 1024, "equals its limit"},
		"no request":                      {pod(remembering("", "")), 0, 0, "no memory request"},
		"a sidecar":                       {pod(remembering("1Gi", ""), container("log", "", "")), 1024, 0, "several containers"},
		"a restart at a resize":           {pod(restarting), 1024, 0, "asks to be restarted"},
	} {
		t.Run(name, func(t *testing.T) {
			m := pods.Read(tc.pod).Memory
			require.Equal(t, "train", m.Container)
			require.Equal(t, tc.request, m.Request)
			require.Equal(t, tc.limit, m.Limit)
			require.Contains(t, m.Fixed, tc.fixed)
			require.Equal(t, tc.fixed == "", m.Fixed == "")
		})
	}
	guaranteed := pod(remembering("1Gi", "2Gi"))
	guaranteed.Status.QOSClass = corev1.PodQOSGuaranteed
	require.Contains(t, pods.Read(guaranteed).Memory.Fixed, "Guaranteed")

	applied := pod(remembering("1Gi", ""))
	applied.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:      "train",
		Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("900Mi")}},
	}}
	require.Equal(t, growth.MiB(900), pods.Read(applied).Memory.Allocated)
}
