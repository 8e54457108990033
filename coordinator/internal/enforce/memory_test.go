package enforce_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
)

// remember changes a memory request and returns the result, without the resize.
func (s stock) remember(name string, from, to growth.MiB) enforce.Result {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	results := make(chan enforce.Result, 1)
	worker := enforce.New(s.client.CoreV1(), s, slog.New(slog.DiscardHandler), nil)
	go func() { _ = worker.Run(ctx) }()
	memory := enforce.Memory{Worker: worker, Result: func(_ node.MemoryResize, err error) { results <- enforce.Result{Err: err} }}
	memory.EnforceMemory(node.MemoryResize{
		Pod:       s.read(name).Ref,
		Container: "train",
		From:      from,
		To:        to,
		Original:  fmt.Sprintf("train=%dMi", from),
	})
	return <-results
}

func (s stock) createRemembering(name string) {
	s.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName: "node",
		Containers: []corev1.Container{{Name: "train", Image: "job", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("500m"),
				corev1.ResourceMemory: resource.MustParse("1Gi"),
			},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Gi")},
		}}},
	}}
	_, err := s.client.CoreV1().Pods(s.namespace).Create(s.t.Context(), p, metav1.CreateOptions{})
	require.NoError(s.t, err)
}

// memoryRequests checks changes of memory requests on a real API server.
func memoryRequests(t *testing.T, client kubernetes.Interface) {
	machine, err := client.CoreV1().Nodes().Get(t.Context(), "node", metav1.GetOptions{})
	require.NoError(t, err)
	machine.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("64Gi")
	machine.Status.Capacity = machine.Status.Allocatable
	_, err = client.CoreV1().Nodes().UpdateStatus(t.Context(), machine, metav1.UpdateOptions{})
	require.NoError(t, err)
	s := in(t, client, "team-m")
	s.createRemembering("job")
	require.Empty(t, s.read("job").Memory.ResizedBy)

	require.NoError(t, s.remember("job", 1024, 300).Err)
	now := s.read("job")
	require.Equal(t, growth.MiB(300), now.Memory.Request)
	require.Equal(t, growth.MiB(4096), now.Memory.Limit, "the limit stays")
	require.Equal(t, growth.MilliCPU(500), now.Request(), "the CPU request stays")
	require.Equal(t, gpushare.FieldManager, now.Memory.ResizedBy)
	require.Empty(t, now.ResizedBy, "the CPU request was not resized")
	require.Equal(t, "train=1024Mi", now.Annotations[gpushare.MemoryRequestAnnotation])

	require.NoError(t, s.remember("job", 300, 600).Err)
	require.Equal(t, "train=1024Mi", s.read("job").Annotations[gpushare.MemoryRequestAnnotation], "the first request is kept")

	patch := []byte(`{"spec":{"containers":[{"name":"train","resources":{"requests":{"memory":"700Mi"}}}]}}`)
	_, err = client.CoreV1().Pods("team-m").Patch(t.Context(), "job", types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: "vpa-updater"}, "resize")
	require.NoError(t, err)
	require.Equal(t, "vpa-updater", s.read("job").Memory.ResizedBy)
	require.True(t, s.remember("job", 600, 300).Conflict(), "the other client's request stays")
	require.Equal(t, growth.MiB(700), s.read("job").Memory.Request)

	got := s.remember("job", 700, 8192)
	require.True(t, got.Rejected(), "a request above the limit: %v", got.Err)

	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "sizes"}}
	limits.Spec.Limits = []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer,
		Min:  corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
	}}
	_, err = client.CoreV1().LimitRanges("team-m").Create(t.Context(), limits, metav1.CreateOptions{})
	require.NoError(t, err)
	got = s.refusal(func() enforce.Result { return s.remember("job", s.read("job").Memory.Request, 300) })
	if got.Err != nil && !got.Rejected() {
		t.Fatal(got.Err)
	}
	require.ErrorContains(t, got.Err, "minimum memory usage per Container is 512Mi")
}
