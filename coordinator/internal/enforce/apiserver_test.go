package enforce_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/daemon/controlplanetest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
)

// stock is a namespace of a stock API server. There is no kubelet: a request takes effect at once.
type stock struct {
	t         *testing.T
	client    kubernetes.Interface
	namespace string
}

// startStock starts a stock API server. Without the stock programs it skips the test.
func startStock(t *testing.T) (*rest.Config, kubernetes.Interface) {
	dir := controlplanetest.StockDir()
	if dir == "" {
		t.Skip("needs TRELLIS_STOCK_DIR, a folder with etcd and kube-apiserver")
	}
	plane, err := controlplanetest.Start(t.Context(), controlplanetest.Options{
		StockDir:       dir,
		Dir:            t.TempDir(),
		Users:          []string{"admin"},
		APIServerFlags: []string{"--disable-admission-plugins=ServiceAccount"},
	})
	t.Cleanup(plane.Close)
	require.NoError(t, err)
	config := &rest.Config{
		Host:            plane.URL,
		BearerToken:     "admin",
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	machine := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}} // admission compares resizes with its CPU
	machine.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64")}
	machine.Status.Capacity = machine.Status.Allocatable
	_, err = client.CoreV1().Nodes().Create(t.Context(), machine, metav1.CreateOptions{})
	require.NoError(t, err)
	return config, client
}

// in creates a namespace.
func in(t *testing.T, client kubernetes.Interface, namespace string) stock {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	_, err := client.CoreV1().Namespaces().Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	return stock{t: t, client: client, namespace: namespace}
}

func (s stock) create(name, cpu string) *corev1.Pod {
	s.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName: "node",
		Containers: []corev1.Container{{Name: "train", Image: "job", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		}}},
	}}
	p, err := s.client.CoreV1().Pods(s.namespace).Create(s.t.Context(), p, metav1.CreateOptions{})
	require.NoError(s.t, err)
	return p
}

func (s stock) read(name string) node.Pod {
	s.t.Helper()
	p, err := s.client.CoreV1().Pods(s.namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	require.NoError(s.t, err)
	return pods.Read(p)
}

// Usage implements enforce.Weights.
func (s stock) Usage(pod growth.PodUID, _ time.Time) (cgroup.Usage, error) {
	list, err := s.client.CoreV1().Pods(s.namespace).List(context.WithoutCancel(s.t.Context()), metav1.ListOptions{})
	if err != nil {
		return cgroup.Usage{}, err
	}
	for _, p := range list.Items {
		if growth.PodUID(p.UID) == pod {
			read := pods.Read(&p)
			return cgroup.Usage{Version: 1, Weight: cgroup.SharesOf(read.Total(read.Requests()))}, nil
		}
	}
	return cgroup.Usage{}, cgroup.ErrNotFound
}

// resize resizes a pod and returns the result.
func (s stock) resize(name string, to growth.MilliCPU) enforce.Result {
	s.t.Helper()
	return s.resizeAs(s.client, s.read(name), to)
}

// resizeAs resizes a pod as it was at the decision.
func (s stock) resizeAs(client kubernetes.Interface, p node.Pod, to growth.MilliCPU) enforce.Result {
	s.t.Helper()
	results := make(chan enforce.Result, 1)
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	worker := enforce.New(client.CoreV1(), s, slog.New(slog.DiscardHandler), func(r enforce.Result) { results <- r })
	go func() { _ = worker.Run(ctx) }()
	worker.Enforce([]node.Resize{{
		Pod:      p.Ref,
		From:     p.Request(),
		To:       to,
		Before:   p.Requests(),
		Requests: node.Requests{"train": to},
		Original: p.FormatRequests(p.Requests()),
	}})
	return <-results
}

// autoscale changes a request like a vertical autoscaler.
func (s stock) autoscale(name, cpu string) {
	s.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"containers":[{"name":"train","resources":{"requests":{"cpu":%q}}}]}}`, cpu)
	_, err := s.client.CoreV1().Pods(s.namespace).Patch(s.t.Context(), name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: "vpa-updater"}, "resize")
	require.NoError(s.t, err)
}

// refusal repeats a resize until the API server refuses it. Its admission reads quotas and limits from a cache.
func (s stock) refusal(resize func() enforce.Result) (got enforce.Result) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); got.Err == nil; got = resize() {
		require.True(s.t, time.Now().Before(deadline), "the API server refuses nothing")
		time.Sleep(200 * time.Millisecond)
	}
	return got
}

// TestWorker_OnAStockAPIServer checks what the worker and the conversion of pods read from a real API server: the
// messages of its admission, and the owners of fields.
func TestWorker_OnAStockAPIServer(t *testing.T) {
	config, client := startStock(t)
	t.Run("a quota", func(t *testing.T) {
		s := in(t, client, "team-b")
		s.create("job", "500m")
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "compute"}}
		quota.Spec.Hard = corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("500m")}
		quota, err := client.CoreV1().ResourceQuotas("team-b").Create(t.Context(), quota, metav1.CreateOptions{})
		require.NoError(t, err)
		quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: quota.Spec.Hard} // as the controller writes it
		_, err = client.CoreV1().ResourceQuotas("team-b").UpdateStatus(t.Context(), quota, metav1.UpdateOptions{})
		require.NoError(t, err)
		got := s.refusal(func() enforce.Result { return s.resize("job", s.read("job").Request()+100) })
		name, over := got.Quota()
		require.True(t, over)
		require.Equal(t, "compute", name)
		require.NoError(t, s.resize("job", 400).Err, "a decrease is permitted")
	})
	t.Run("a LimitRange", func(t *testing.T) {
		s := in(t, client, "team-c")
		limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "sizes"}}
		limits.Spec.Limits = []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer,
			Min:  corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")},
		}}
		_, err := client.CoreV1().LimitRanges("team-c").Create(t.Context(), limits, metav1.CreateOptions{})
		require.NoError(t, err)
		s.create("job", "500m")
		got := s.refusal(func() enforce.Result { return s.resize("job", 100) })
		require.True(t, got.Rejected())
		require.ErrorContains(t, got.Err, "minimum cpu usage per Container is 200m")
		_, over := got.Quota()
		require.False(t, over)
	})
	t.Run("another writer", func(t *testing.T) {
		s := in(t, client, "team-d")
		s.create("job", "500m")
		require.Empty(t, s.read("job").ResizedBy, "the pod was never resized")
		got := s.resize("job", 300)
		require.NoError(t, got.Err)
		require.True(t, got.Verified, "%+v", got)
		require.Equal(t, gpushare.FieldManager, s.read("job").ResizedBy)
		s.autoscale("job", "700m")
		require.Equal(t, "vpa-updater", s.read("job").ResizedBy)
		require.NoError(t, s.resize("job", 300).Err)
		require.Equal(t, gpushare.FieldManager, s.read("job").ResizedBy, "the last writer owns the field")
	})
	t.Run("a memory request", func(t *testing.T) { memoryRequests(t, client) })
	t.Run("a write between the read and the patch", func(t *testing.T) { overtaken(t, in(t, client, "team-e"), config) })
}
