package enforce_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// forbidden is the error of the quota admission.
func forbidden(pod, text string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod, errors.New(text))
}

const exceeded = "exceeded quota: team-cpu, requested: requests.cpu=400m, used: requests.cpu=1, limited: requests.cpu=1"

// refuse makes the API server refuse resizes of a pod while refused returns a text.
func (n *fakeNode) refuse(name string, refused func() string) {
	n.client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.(clienttesting.PatchAction).GetName() == name {
			if text := refused(); text != "" {
				return true, nil, forbidden(name, text)
			}
		}
		return false, nil, nil
	})
}

// The quota is used up, and counts the lowered request until kubelet has applied it.
func TestWorker_RaisesWithinAFullQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(1, map[string]string{"fast": "500m", "slow": "500m"})
		start := time.Now()
		n.refuse("fast", func() string {
			if time.Since(start) < 2300*time.Millisecond {
				return exceeded
			}
			return ""
		})
		got := work(t, n, target("fast", 500, 900), target("slow", 500, 100))
		require.NoError(t, got["fast"].Err)
		require.True(t, got["fast"].Verified)
		require.True(t, got["slow"].Verified)
		require.Less(t, time.Since(start), 6*time.Second, "the same round")
	})
}

func TestWorker_ReportsTheQuotaThatForbidsARaise(t *testing.T) {
	for name, tc := range map[string]struct {
		text  string
		lower bool
		quota string
		tries bool
	}{
		"nothing was lowered":             {exceeded, false, "team-cpu", false},
		"another pod was lowered":         {exceeded, true, "team-cpu", true},
		"the quota has no status yet":     {"status unknown for quota: new, resources: requests.cpu", true, "new", true},
		"a LimitRange":                    {"maximum cpu usage per Container is 600m, but request is 900m", true, "", false},
		"a policy that mentions no quota": {"no raises on Fridays", false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(2, map[string]string{"fast": "500m", "slow": "500m"})
				calls := 0
				n.refuse("fast", func() string { calls++; return tc.text })
				targets := append(n.targets(tc.lower), target("fast", 500, 900))
				got := work(t, n, targets...)["fast"]
				quota, over := got.Quota()
				require.Equal(t, tc.quota, quota)
				require.Equal(t, tc.quota != "", over)
				require.True(t, got.Rejected())
				require.ErrorContains(t, got.Err, tc.text)
				require.Equal(t, tc.tries, calls > 1, "%d calls", calls)
				require.LessOrEqual(t, calls, 12)
			})
		})
	}
}

// targets returns a decrease of pod slow, if asked for.
func (n *fakeNode) targets(lower bool) (targets []node.Resize) {
	if lower {
		targets = append(targets, target("slow", 500, 100))
	}
	return targets
}

func TestWorker_RaisesNoMoreThanWasReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(1, map[string]string{"a": "500m", "b": "500m", "small": "500m", "large": "500m"})
		n.refuse("a", func() string { return "not now" })
		got := work(t, n, target("a", 500, 400), target("b", 500, 300), target("small", 500, 600), target("large", 500, 700))
		require.Error(t, got["a"].Err)
		require.NoError(t, got["b"].Err)
		require.NoError(t, got["small"].Err)
		require.ErrorContains(t, got["large"].Err, "not released")
		require.Equal(t, growth.MilliCPU(500+300+600+500), n.sum(t))
	})
}

// sum returns the sum of all requests in the API server.
func (n *fakeNode) sum(t *testing.T) (sum growth.MilliCPU) {
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	list, err := n.client.Tracker().List(resource, corev1.SchemeGroupVersion.WithKind("Pod"), "ns")
	require.NoError(t, err)
	for _, pod := range list.(*corev1.PodList).Items {
		sum += growth.MilliCPU(pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue())
	}
	return sum
}

// For any decisions and any failures, the sum of all requests never exceeds the pool, not even between two writes: the
// scheduler has given the rest of the node to other pods.
func TestWorker_NeverExceedsThePool(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for run := range 20 {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const jobs, pool = 5, growth.MilliCPU(2500)
				requests, inForce := map[string]string{}, map[string]growth.MilliCPU{}
				for i := range jobs {
					name := fmt.Sprint("job-", i)
					requests[name], inForce[name] = "500m", 500
				}
				n := newNode(1, requests)
				n.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
					if sum := n.sum(t); sum > pool {
						t.Errorf("the sum of the requests is %s", sum)
					}
					if random.IntN(4) == 0 {
						return true, nil, errors.New("no route to host")
					}
					return false, nil, nil
				})
				for range 20 {
					var targets []node.Resize
					rest := pool
					for i := range jobs {
						name := fmt.Sprint("job-", i)
						to := min(rest-growth.MilliCPU(2*(jobs-1-i)), 2+growth.MilliCPU(random.IntN(1200)))
						rest -= to
						if to != inForce[name] {
							targets = append(targets, target(name, inForce[name], to))
						}
					}
					for name, r := range work(t, n, targets...) {
						if r.Err == nil {
							inForce[name] = r.Resize.To
						}
					}
					require.LessOrEqual(t, n.sum(t), pool)
				}
			})
		})
	}
}
