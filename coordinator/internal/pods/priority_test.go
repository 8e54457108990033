package pods_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
)

func TestRead_Priority(t *testing.T) {
	require.Zero(t, pods.Read(&corev1.Pod{}).Priority)
	require.EqualValues(t, -7, pods.Read(&corev1.Pod{Spec: corev1.PodSpec{Priority: new(int32(-7))}}).Priority)
}
