package enforce_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
)

// fakeNode is a fake API server and kubelet: a resize changes the weight after a second.
type fakeNode struct {
	mu      sync.Mutex
	client  *fake.Clientset
	version int
	weigh   func(growth.MilliCPU) int64
	ignores bool // kubelet ignores resizes
	order   []string
	weights map[growth.PodUID]int64
}

func (n *fakeNode) Usage(pod growth.PodUID, _ time.Time) (cgroup.Usage, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.weights[pod] == 0 {
		return cgroup.Usage{}, cgroup.ErrNotFound
	}
	return cgroup.Usage{Weight: n.weights[pod], Version: n.version}, nil
}

func (n *fakeNode) resized(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchAction)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.order = append(n.order, strings.TrimPrefix(patch.GetName()+"/"+patch.GetSubresource(), "/"))
	if patch.GetSubresource() != "resize" || n.ignores {
		return false, nil, nil
	}
	var body corev1.Pod
	if err := json.Unmarshal(patch.GetPatch(), &body); err != nil {
		return true, nil, err
	}
	weight := n.weigh(pods.Read(&body).Request())
	time.AfterFunc(time.Second, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.weights[growth.PodUID(body.UID)] = weight
	})
	return false, nil, nil
}

func newNode(version int, requests map[string]string) *fakeNode {
	n := &fakeNode{version: version, weigh: cgroup.SharesOf, weights: map[growth.PodUID]int64{}}
	if version == 2 {
		n.weigh = cgroup.WeightOf
	}
	var objects []runtime.Object
	for name, request := range requests {
		quantity := resource.MustParse(request)
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name:      "train",
				Image:     "job",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: quantity}},
			}}},
		})
		n.weights[growth.PodUID("uid-"+name)] = n.weigh(growth.MilliCPU(quantity.MilliValue()))
	}
	n.client = fake.NewClientset(objects...)
	n.client.PrependReactor("patch", "pods", n.resized)
	return n
}

func target(name string, from, to growth.MilliCPU) node.Resize {
	return node.Resize{
		Pod:      growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)},
		From:     from,
		To:       to,
		Before:   node.Requests{"train": from},
		Requests: node.Requests{"train": to},
	}
}

// work runs a worker until there is a result of each resize, and returns the results by pod name.
func work(t *testing.T, n *fakeNode, targets ...node.Resize) map[string]enforce.Result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan enforce.Result, len(targets))
	worker := enforce.New(n.client.CoreV1(), n, slog.New(slog.DiscardHandler), func(r enforce.Result) { results <- r })
	done := make(chan error)
	go func() { done <- worker.Run(ctx) }()
	worker.Enforce(targets)
	byName := map[string]enforce.Result{}
	for range targets {
		r := <-results
		byName[r.Resize.Pod.Name] = r
	}
	cancel()
	require.NoError(t, <-done)
	return byName
}

func TestWorker_ReadsWeightsBack(t *testing.T) {
	for version, want := range map[int]int64{1: 768, 2: 30} {
		t.Run(fmt.Sprintf("cgroup v%d", version), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(version, map[string]string{"a": "500m"})
				got := work(t, n, target("a", 500, 750))["a"]
				require.True(t, got.Verified)
				require.Equal(t, want, got.Weight)
				pod, err := n.client.CoreV1().Pods("ns").Get(t.Context(), "a", metav1.GetOptions{})
				require.NoError(t, err)
				require.Equal(t, "750m", pod.Spec.Containers[0].Resources.Requests.Cpu().String())
				require.Equal(t, "job", pod.Spec.Containers[0].Image, "containers merge by name")
				require.Empty(t, pod.Spec.Containers[0].Resources.Limits)
			})
		})
	}
}

func TestWorker_AcceptsAnyNewWeightOnV2(t *testing.T) {
	for name, tc := range map[string]struct {
		weigh func(growth.MilliCPU) int64
		to    growth.MilliCPU
		want  bool
	}{
		"a change too small for another weight": {cgroup.WeightOf, 505, true},
		"a kubelet with another formula":        {func(r growth.MilliCPU) int64 { return int64(r) / 10 }, 750, true},
		"a weight that did not change":          {func(growth.MilliCPU) int64 { return 50 }, 750, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(2, map[string]string{"a": "500m"})
				n.weigh = tc.weigh
				n.weights["uid-a"] = tc.weigh(500)
				require.Equal(t, tc.want, work(t, n, target("a", 500, tc.to))["a"].Verified)
			})
		})
	}
}

func TestWorker_LowersBeforeItRaises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(1, map[string]string{"a": "500m", "b": "500m"})
		start := time.Now()
		got := work(t, n, target("a", 500, 900), target("b", 500, 100))
		require.Equal(t, []string{"b/resize", "a/resize"}, n.order)
		require.True(t, got["a"].Verified && got["b"].Verified)
		require.Less(t, time.Since(start), 2*time.Second, "the scheduler must not see room that is about to be taken")
	})
}

func TestWorker_SavesTheOriginalRequestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(1, map[string]string{"a": "500m"})
		to := target("a", 500, 750)
		to.Original = "train=500m"
		work(t, n, to)
		require.Equal(t, []string{"a/", "a/resize"}, n.order)
		pod, err := n.client.CoreV1().Pods("ns").Get(t.Context(), "a", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "train=500m", pod.Annotations[gpushare.RequestAnnotation])
	})
}

func TestWorker_ReportsAResizeWithoutEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(1, map[string]string{"a": "500m", "b": "500m"})
		n.ignores = true
		got := work(t, n, target("a", 500, 750), target("b", 500, 250), target("gone", 1, 2))
		require.False(t, got["a"].Verified)
		require.Equal(t, int64(512), got["a"].Weight, "the current weight")
		require.True(t, got["gone"].Gone())
	})
}

func TestWorker_ReportsAnErrorOfTheAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(1, map[string]string{"a": "500m"})
		n.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("no route to host")
		})
		got := work(t, n, target("a", 500, 750))["a"]
		require.ErrorContains(t, got.Err, "resizing ns/a from 500m to 750m")
		require.False(t, got.Gone())
	})
}
