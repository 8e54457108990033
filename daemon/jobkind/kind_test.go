package jobkind_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/daemon/jobkind"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestOf(t *testing.T) {
	of := func(change func(*corev1.Pod)) string {
		p := pod(corev1.Container{Name: "train", Image: "train:1", Args: []string{"--seed=7"}})
		p.Annotations = map[string]string{gpushare.MemoryAnnotation: "8Gi"}
		change(p)
		return string(jobkind.Of(p))
	}
	plain := of(func(*corev1.Pod) {})
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		same   bool
	}{
		"another name and seed": {func(p *corev1.Pod) { p.Name, p.Spec.Containers[0].Args[0] = "other", "--seed=8" }, true},
		"more GPU memory":       {func(p *corev1.Pod) { p.Annotations[gpushare.MemoryAnnotation] = "12Gi" }, true},
		"by limits alone":       {func(p *corev1.Pod) { p.Annotations = nil }, true},
		"the pod is running":    {func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "n", corev1.PodRunning }, true},
		"another program":       {func(p *corev1.Pod) { p.Spec.Containers[0].Image = "train:2" }, false},
		"another metric":        {func(p *corev1.Pod) { p.Annotations[gpushare.MetricAnnotation] = "accuracy:max" }, false},
		"another namespace":     {func(p *corev1.Pod) { p.Namespace = "theirs" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, plain, 16)
			require.Equal(t, tc.same, plain == of(tc.change))
		})
	}
	require.Empty(t, of(func(p *corev1.Pod) { p.Annotations[gpushare.MetricAnnotation] = "?" }), "invalid")
}
