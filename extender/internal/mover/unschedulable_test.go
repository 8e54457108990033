package mover

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestUnschedulable(t *testing.T) {
	selector := func(key string, operator corev1.NodeSelectorOperator, values ...string) func(*corev1.Pod, *occupied) {
		return func(p *corev1.Pod, _ *occupied) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}},
				}}},
			}}
		}
	}
	taint := corev1.Taint{Key: "gpu", Value: "a", Effect: corev1.TaintEffectNoSchedule}
	for name, test := range map[string]struct {
		change func(*corev1.Pod, *occupied)
		want   string
	}{
		"none":          {func(*corev1.Pod, *occupied) {}, ""},
		"the same node": {func(p *corev1.Pod, _ *occupied) { p.Spec.NodeName = "n" }, "the pod is there"},
		"cordoned":      {func(_ *corev1.Pod, n *occupied) { n.node.Spec.Unschedulable = true }, "the node is cordoned"},
		"not ready":     {func(_ *corev1.Pod, n *occupied) { n.node.Status.Conditions = nil }, "the node is not ready"},
		"a taint":       {func(_ *corev1.Pod, n *occupied) { n.node.Spec.Taints = []corev1.Taint{taint} }, "the node has a taint"},
		"a taint that is a preference": {func(_ *corev1.Pod, n *occupied) {
			n.node.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: "PreferNoSchedule"}}
		}, ""},
		"a tolerated taint": {func(p *corev1.Pod, n *occupied) {
			n.node.Spec.Taints = []corev1.Taint{taint}
			p.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
		}, ""},
		"another value is tolerated": {func(p *corev1.Pod, n *occupied) {
			n.node.Spec.Taints = []corev1.Taint{taint}
			p.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Value: "b"}}
		}, "the node has a taint"},
		"a node selector":     {func(p *corev1.Pod, _ *occupied) { p.Spec.NodeSelector = map[string]string{"zone": "2"} }, "the node is not selected"},
		"a matching affinity": {selector("zone", corev1.NodeSelectorOpIn, "1", "2"), ""},
		"another affinity":    {selector("zone", corev1.NodeSelectorOpNotIn, "1"), "the node is not selected"},
		"an unknown operator": {selector("zone", "Like", "1"), "the node is not selected"},
		"a port of the node":  {func(p *corev1.Pod, _ *occupied) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} }, "the pod has rules about other pods"},
		"too little CPU":      {func(_ *corev1.Pod, n *occupied) { n.cpu = 3500 }, "too little CPU is left"},
		"too little CPU for what the pod was created with": {func(p *corev1.Pod, n *occupied) {
			n.cpu = 3500
			p.Annotations = map[string]string{gpushare.RequestAnnotation: "train=1"}
			p.Spec.Containers[0].Name = "train"
			p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2m")
		}, "too little CPU is left"},
		"too little memory":      {func(_ *corev1.Pod, n *occupied) { n.memory = 8000 }, "too little memory is left"},
		"as many pods as it can": {func(_ *corev1.Pod, n *occupied) { n.pods = 10 }, "the node has as many pods as it may"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")},
			}}}}}
			n := occupied{node: &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "1"}},
				Status: corev1.NodeStatus{
					Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
					Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")},
				},
			}}
			test.change(pod, &n)
			require.Equal(t, test.want, unschedulable(pod, n))
		})
	}
}
