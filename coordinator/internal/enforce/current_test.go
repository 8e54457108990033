package enforce_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// write changes the CPU request of a pod behind the coordinator's back. The fake API server does not track the managers of
// fields, so the answers to later reads are completed.
func (n *fakeNode) write(t *testing.T, name, cpu, manager string) {
	t.Helper()
	pod := n.pod(t, name)
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	require.NoError(t, n.client.Tracker().Update(podResource, pod, "ns"))
	n.client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		pod := n.pod(t, name)
		fields := `{"f:spec":{"f:containers":{"k:{\"name\":\"train\"}":{"f:resources":{"f:requests":{"f:cpu":{}}}}}}}`
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager:     manager,
			Subresource: "resize",
			FieldsV1:    metav1.NewFieldsV1(fields),
		}}
		return true, pod, nil
	})
}

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// pod returns a pod of the API server.
func (n *fakeNode) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	object, err := n.client.Tracker().Get(podResource, "ns", name)
	require.NoError(t, err)
	return object.(*corev1.Pod).DeepCopy()
}

// request returns the CPU request of a pod of the API server.
func (n *fakeNode) request(t *testing.T, name string) growth.MilliCPU {
	t.Helper()
	return growth.MilliCPU(n.pod(t, name).Spec.Containers[0].Resources.Requests.Cpu().MilliValue())
}

// conflicts makes the API server answer the first n patches with Conflict, each after another client's write.
func (n *fakeNode) conflicts(first int, write func()) (patches *int) {
	patches = new(int)
	n.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if *patches++; *patches > first {
			return false, nil, nil
		}
		write()
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "a", nil)
	})
	return patches
}

func TestWorker_KeepsAChangeSinceTheDecision(t *testing.T) {
	for name, tc := range map[string]struct {
		now, by  string
		conflict bool
		request  growth.MilliCPU
	}{
		"no change":                                                   {"500m", "", false, 750},
		"another controller's older change":                           {"500m", "vpa-updater", false, 750},
		"a change by another controller":                              {"180m", "vpa-updater", true, 180},
		"a change by an unknown client":                               {"180m", "", true, 180},
		"the last resize of Trellis, which the informer has not seen": {"600m", gpushare.FieldManager, false, 750},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(1, map[string]string{"a": "500m"})
				n.write(t, "a", tc.now, tc.by)
				r := target("a", 500, 750)
				r.Original = "train=500m"
				got := work(t, n, r)["a"]
				require.Equal(t, tc.conflict, got.Conflict())
				require.Equal(t, tc.conflict, got.Err != nil)
				require.False(t, got.Gone() || got.Rejected())
				require.Equal(t, tc.request, n.request(t, "a"))
				if tc.conflict {
					require.Empty(t, n.order, "nothing is written")
				}
			})
		})
	}
}

func TestWorker_ReadsThePodAgainAfterAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(1, map[string]string{"a": "500m"})
		n.conflicts(3, func() {})
		got := work(t, n, target("a", 500, 750))["a"]
		require.NoError(t, got.Err, "only the status has changed")
		require.True(t, got.Verified)
	})
	synctest.Test(t, func(t *testing.T) {
		n := newNode(1, map[string]string{"a": "500m"})
		patches := n.conflicts(1, func() { n.write(t, "a", "180m", "vpa-updater") })
		got := work(t, n, target("a", 500, 750))["a"]
		require.True(t, got.Conflict())
		require.EqualError(t, got.Err, "resizing ns/a from 500m to 750m of CPU: vpa-updater has changed it to 180m meanwhile")
		require.Equal(t, growth.MilliCPU(180), n.request(t, "a"))
		require.Equal(t, 1, *patches)
	})
}

func TestWorker_GivesUpAfterManyConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(1, map[string]string{"a": "500m"})
		patches := n.conflicts(100, func() {})
		got := work(t, n, target("a", 500, 750))["a"]
		require.True(t, apierrors.IsConflict(got.Err))
		require.False(t, got.Conflict() || got.Gone() || got.Rejected(), "the next round tries again")
		require.Equal(t, 5, *patches)
	})
}

func TestWorker_DoesNotResizeARecreatedPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(1, map[string]string{"a": "500m"})
		r := target("a", 500, 750)
		r.Pod.UID = "uid-before"
		got := work(t, n, r)["a"]
		require.True(t, got.Gone())
		require.Equal(t, growth.MilliCPU(500), n.request(t, "a"))
	})
}
