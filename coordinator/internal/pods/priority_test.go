package pods_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
)

func TestRead_Priority(t *testing.T) {
	require.Zero(t, pods.Read(&corev1.Pod{}).Priority)
	require.EqualValues(t, -7, pods.Read(&corev1.Pod{Spec: corev1.PodSpec{Priority: new(int32(-7))}}).Priority)
}

func TestRead_Created(t *testing.T) {
	created := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}
	require.Equal(t, created, pods.Read(pod).Created)
}
