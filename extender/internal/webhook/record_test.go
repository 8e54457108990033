package webhook_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/extender/internal/upstreamtest"
	"github.com/trellis-gpu/trellis/extender/internal/webhook"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
	"github.com/trellis-gpu/trellis/growth/placement"
)

var record = flag.Bool("record", false, "record testdata from the stock binaries in the folder TRELLIS_STOCK_DIR")

// TestRecord lets a stock kube-scheduler call the real handler, keeps the bodies it sends, and requires that it acts on the
// answers. One extender of its configuration takes names and binds, a second one takes whole nodes.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("records only with -record")
	}
	plane := upstreamtest.Start(t)
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		plane.Node(t, name, 48)
	}

	tape := &tape{bodies: map[string][]byte{}}
	server := httptest.NewServer(tape.wrap(webhook.Handler(binder{plane.Client}, ignore{}, slog.New(slog.DiscardHandler))))
	t.Cleanup(server.Close)
	plane.Scheduler(t, fmt.Sprintf(extenders, server.URL))

	for _, pod := range []*corev1.Pod{job("vae", false), job("pair", true)} {
		_, err := plane.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			now, err := plane.Client.CoreV1().Pods("default").Get(t.Context(), pod.Name, metav1.GetOptions{})
			return err == nil && now.Spec.NodeName != "" && now.Annotations[gpushare.GPUAnnotation] == "GPU-recorded"
		}, time.Minute, 50*time.Millisecond, "the stock scheduler had pod %s bound by the extender", pod.Name)
		tape.keep("names-filter", "names-prioritize", "names-bind", "nodes-filter", "nodes-prioritize")
		tape.save(t, filepath.Join("testdata", plane.Version(t), pod.Name))
	}
}

// TestRecordPreemption lets a stock kube-scheduler evict a job, guarded by a disruption budget that allows no disruption, for an
// urgent one, and keeps the bodies of its requests.
func TestRecordPreemption(t *testing.T) {
	if !*record {
		t.Skip("records only with -record")
	}
	plane := upstreamtest.Start(t)
	plane.Node(t, "node-1", 8)
	plane.PriorityClass(t, "urgent", 1000)
	tape := &tape{bodies: map[string][]byte{}}
	server := httptest.NewServer(tape.wrap(webhook.Handler(binder{plane.Client}, ignore{}, slog.New(slog.DiscardHandler))))
	t.Cleanup(server.Close)
	plane.Scheduler(t, fmt.Sprintf(strings.ReplaceAll(extenders, "filterVerb: filter", "filterVerb: filter\n  preemptVerb: preempt"), server.URL))

	guarded := job("guarded", false)
	guarded.Labels = map[string]string{"app": "guarded"}
	_, err := plane.Client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "guarded"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: guarded.Labels}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	urgent := job("urgent", false)
	urgent.Spec.PriorityClassName = "urgent"
	for _, pod := range []*corev1.Pod{guarded, urgent} {
		pod.Spec.TerminationGracePeriodSeconds = new(int64(0)) // there is no kubelet that would end it
		_, err := plane.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			now, err := plane.Client.CoreV1().Pods("default").Get(t.Context(), pod.Name, metav1.GetOptions{})
			return err == nil && now.Spec.NodeName != ""
		}, time.Minute, 50*time.Millisecond, "pod %s is bound", pod.Name)
	}
	_, err = plane.Client.CoreV1().Pods("default").Get(t.Context(), "guarded", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "it was evicted")
	tape.keep("names-preempt", "nodes-preempt")
	tape.save(t, filepath.Join("testdata", plane.Version(t), "urgent"))
}

// extenders takes the recorder's URL. No two extenders may manage one resource: the second hears of every pod.
const extenders = `
- urlPrefix: %[1]s/names
  filterVerb: filter
  prioritizeVerb: prioritize
  bindVerb: bind
  weight: 1
  nodeCacheCapable: true
  managedResources: [{name: gpushare/gpu-mem}]
- urlPrefix: %[1]s/nodes
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 1
`

// job is a training pod: of one container, or of a sidecar, an init container and two containers on two GPUs.
func job(name string, many bool) *corev1.Pod {
	container := func(name, units string) corev1.Container {
		return corev1.Container{Name: name, Image: "trainer", Resources: corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{gpushare.Resource: resource.MustParse(units)},
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")},
		}}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Annotations: map[string]string{
			gpushare.MemoryAnnotation: "8Gi", gpushare.MetricAnnotation: "loss:min",
		}},
		Spec: corev1.PodSpec{SchedulerName: "trellis", Containers: []corev1.Container{container("train", "8")}},
	}
	if many {
		always := corev1.ContainerRestartPolicyAlways
		sidecar := container("cache", "2")
		sidecar.RestartPolicy = &always
		pod.Annotations[gpushare.CountAnnotation] = "2"
		pod.Spec.InitContainers = []corev1.Container{sidecar, container("warm", "4")}
		pod.Spec.Containers = []corev1.Container{container("train", "14"), container("evaluate", "4")}
	}
	return pod
}

// tape keeps the last body sent to each path.
type tape struct {
	mu     sync.Mutex
	bodies map[string][]byte
}

// wrap records, and removes the first part of the path, which distinguishes the two extenders.
func (p *tape) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		prefix, verb, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		p.mu.Lock()
		p.bodies[prefix+"-"+verb] = body
		p.mu.Unlock()
		r.URL.Path, r.Body = "/"+verb, io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// keep drops all but the named bodies.
func (p *tape) keep(names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.bodies, func(name string, _ []byte) bool { return !slices.Contains(names, name) })
}

func (p *tape) save(t *testing.T, folder string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o755))
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, body := range p.bodies {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".json"), body, 0o644))
	}
	clear(p.bodies)
}

// binder fits everything everywhere, prefers the first node, and binds.
type binder struct{ client kubernetes.Interface }

func (binder) Filter(_ *corev1.Pod, nodes []string) (scheduler.FilterResult, error) {
	return scheduler.FilterResult{Nodes: nodes, Statuses: make([]*placement.Status, len(nodes))}, nil
}

func (binder) Prioritize(_ *corev1.Pod, nodes []string) scheduler.PrioritizeResult {
	points := make([]int8, len(nodes))
	for i := range nodes {
		points[i] = int8(10 - i)
	}
	return scheduler.PrioritizeResult{Nodes: nodes, Points: points}
}

func (b binder) Bind(ctx context.Context, pod growth.PodRef, node growth.NodeName) error {
	return b.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Annotations: map[string]string{gpushare.GPUAnnotation: "GPU-recorded"}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: string(node)},
	}, metav1.CreateOptions{})
}

func (binder) Preempt(_ *corev1.Pod, offered []scheduler.Candidate) ([]scheduler.Candidate, error) {
	return offered, nil
}

func (binder) Inspect(growth.NodeName) aliyun.Inspection { return aliyun.Inspection{} }

func (binder) Explain(string, string) (scheduler.Explanation, bool) {
	return scheduler.Explanation{}, false
}

type ignore struct{}

func (ignore) Answered(string, time.Duration) {}
func (ignore) Bound(string)                   {}
