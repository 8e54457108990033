package request_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/move"
)

// The pod that a controller creates in place of another one has its owner and its number. A JobSet creates Indexed Jobs.
func TestIdentity(t *testing.T) {
	yes := true
	owned := metav1.ObjectMeta{
		Namespace: "ns", Name: "p", UID: "u", OwnerReferences: []metav1.OwnerReference{{UID: "owner", Controller: &yes}},
	}
	tests := map[string]struct {
		annotations, labels map[string]string
		index, job          string
	}{
		"of a Job":          {job: "owner"},
		"of an Indexed Job": {annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: "3"}, index: "3", job: "owner.3"},
		"of a StatefulSet":  {labels: map[string]string{"apps.kubernetes.io/pod-index": "1"}, index: "1", job: "owner.1"},
		"of a PyTorchJob": {
			labels: map[string]string{"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0"},
			index:  "worker-0",
			job:    "owner.worker-0",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: *owned.DeepCopy()}
			pod.Annotations, pod.Labels = test.annotations, test.labels
			want := move.Identity{UID: "u", Namespace: "ns", Name: "p", Owner: "owner", Index: test.index}
			require.Equal(t, want, request.Identity(pod))
			require.Equal(t, test.job, request.Identity(pod).Job())
		})
	}
	bare := request.Identity(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}})
	require.Equal(t, move.Identity{UID: "u", Namespace: "ns", Name: "p"}, bare)
	require.Equal(t, "u", bare.Job())
}
