package request_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestRead_Gang(t *testing.T) {
	controller := true
	owned := func(p *corev1.Pod, kind, name string) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, UID: "owner", Controller: &controller}}
	}
	env := func(p *corev1.Pod, name, value string) {
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: name, Value: value})
	}
	indexed := func(p *corev1.Pod) {
		owned(p, "Job", "ddp")
		p.Annotations[batchv1.JobCompletionIndexAnnotation] = "0"
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   request.Gang
	}{
		"a bare pod": {func(*corev1.Pod) {}, request.Gang{}},
		"a named gang": {
			func(p *corev1.Pod) { p.Annotations[gpushare.GangAnnotation] = "bert/4" },
			request.Gang{Name: "ns/bert", Title: "gang bert", Size: 4},
		},
		"a gang of one": {func(p *corev1.Pod) { p.Annotations[gpushare.GangAnnotation] = "bert/1" }, request.Gang{}},
		"an Indexed Job of a distributed program": {
			func(p *corev1.Pod) { indexed(p); env(p, "MASTER_ADDR", "ddp-0.ddp") },
			request.Gang{Name: "ns/owner", Title: "Job ddp", Size: 1, Job: "ddp"},
		},
		"an Indexed Job of independent pods": {indexed, request.Gang{}},
		"an Indexed Job whose pods are placed one by one": {
			func(p *corev1.Pod) {
				indexed(p)
				env(p, "MASTER_ADDR", "ddp-0.ddp")
				p.Annotations[gpushare.GangAnnotation] = gpushare.GangNone
			},
			request.Gang{},
		},
		"a Job without indexes": {
			func(p *corev1.Pod) { owned(p, "Job", "ddp"); env(p, "MASTER_ADDR", "ddp-0.ddp") },
			request.Gang{},
		},
		"a JobSet": {
			func(p *corev1.Pod) {
				indexed(p)
				env(p, "PET_NNODES", "4")
				p.Labels["jobset.sigs.k8s.io/jobset-name"] = "bert"
				p.Labels["jobset.sigs.k8s.io/jobset-uid"] = "set"
				p.Labels["jobset.sigs.k8s.io/replicatedjob-name"] = "node"
				p.Labels["jobset.sigs.k8s.io/replicatedjob-replicas"] = "2"
			},
			request.Gang{Name: "ns/set/node", Title: "JobSet bert", Size: 2, Job: "ddp"},
		},
		"a PyTorchJob": {
			func(p *corev1.Pod) {
				owned(p, "PyTorchJob", "bert")
				env(p, "PET_NNODES", "3")
				p.Labels["training.kubeflow.org/job-name"] = "bert"
			},
			request.Gang{Name: "ns/owner", Title: "PyTorchJob bert", Size: 3},
		},
		"an elastic PyTorchJob": {
			func(p *corev1.Pod) {
				owned(p, "PyTorchJob", "bert")
				env(p, "PET_NNODES", "2:4")
				p.Labels["training.kubeflow.org/job-name"] = "bert"
			},
			request.Gang{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod()
			tc.change(p)
			got, _ := request.Read(p, gpushare.Resource)
			require.Equal(t, tc.want, got.Gang)
		})
	}
}
