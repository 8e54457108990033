package loop_test

import (
	"errors"
	"fmt"
	"log/slog"
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
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// four are the losses of four jobs with half a core each. Two of them have stopped growing.
var four = map[string]func(int) float64{
	"young-a": falling,
	"young-b": falling,
	"old-a":   flat,
	"old-b":   flat,
}

const (
	// poolOfFour is the CPU that the four jobs share.
	poolOfFour = 4 * 500 * growth.MilliCPU(1)
	// resizeTime bounds the time that the worker and kubelet need for a decision: lower, raise and read back, once more
	// for a decision that was taken meanwhile, and a reserve.
	resizeTime = 8 * time.Second
)

// cluster is a harness with a fake API server, the real worker, and a kubelet that applies a resize after a second.
type cluster struct {
	*harness
	client *fake.Clientset

	mu          sync.Mutex
	calls       int  // patches that reached the API server
	killCall    int  // number of the patch at which the coordinator is killed; 0: never
	after       bool // the patch succeeds before the coordinator is killed
	dead        bool
	atDeath     node.Memory
	maxRequests growth.MilliCPU // the largest sum of requests so far
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{harness: newHarness(t)}
	var objects []runtime.Object
	for name := range four {
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:   "ns",
				Name:        name,
				UID:         types.UID(ref(name).UID),
				Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "train", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
			}}}},
			Status: corev1.PodStatus{
				Phase:             corev1.PodRunning,
				QOSClass:          corev1.PodQOSBurstable,
				ContainerStatuses: []corev1.ContainerStatus{{Name: "train"}},
			},
		})
	}
	c.client = fake.NewClientset(objects...)
	c.client.PrependReactor("patch", "pods", c.patched)
	c.worker = func(results func(enforce.Result)) *enforce.Worker {
		return enforce.New(c.client.CoreV1(), c.harness, slog.New(slog.DiscardHandler), results)
	}
	return c
}

// patched is the reaction of the API server. It applies a patch, unless the coordinator is killed before.
func (c *cluster) patched(action clienttesting.Action) (bool, runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	last := c.calls == c.killCall && !c.dead
	if c.dead || (last && !c.after) {
		c.die()
		return true, nil, errors.New("killed")
	}
	handled, object, err := clienttesting.ObjectReaction(c.client.Tracker())(action)
	if err == nil {
		pod := object.(*corev1.Pod).DeepCopy()
		c.loop.PodUpdated(pods.Read(pod))
		time.AfterFunc(time.Second, func() { c.resize(pod.Name) })
		c.maxRequests = max(c.maxRequests, c.sumOfRequests())
	}
	if last {
		c.die()
	}
	return handled, object, err
}

func (c *cluster) die() {
	if !c.dead {
		c.harness.mu.Lock()
		c.atDeath = c.memory
		c.harness.mu.Unlock()
	}
	c.dead = true
	c.kill()
}

func (c *cluster) killed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// resize is kubelet's part: it applies the current request, because two patches may reach it in any order.
func (c *cluster) resize(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.all() {
		if pod.Ref.Name == name {
			pod.Containers[0].Allocated = pod.Request()
			c.apply(pod)
		}
	}
}

func (c *cluster) all() []node.Pod {
	list, err := c.client.Tracker().List(corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithKind("Pod"), "ns")
	require.NoError(c.t, err)
	var all []node.Pod
	for _, pod := range list.(*corev1.PodList).Items {
		all = append(all, pods.Read(&pod))
	}
	return all
}

func (c *cluster) sumOfRequests() (sum growth.MilliCPU) {
	for _, pod := range c.all() {
		sum += pod.Request()
	}
	return sum
}

// begin starts a coordinator, which lists the pods.
func (c *cluster) begin(name policy.Name) (stop func()) {
	c.mu.Lock()
	c.dead = false
	c.mu.Unlock()
	stop = c.start(name)
	for _, pod := range c.all() {
		c.apply(pod)
		c.put(bus.AllocationKey("node", pod.Ref.UID), encode(c.t, bus.Allocation{Pod: pod.Ref, Containers: []bus.ContainerAllocation{{
			Name: "train", Slot: "slot-" + pod.Ref.Name, GPUs: []growth.GPUShare{{GPU: "GPU-1", Memory: 1024}},
		}}}))
	}
	c.advance(time.Second) // all slots are open; reports before that are lost
	return stop
}

// requireConsistent requires that the original request of each pod is not lost, and that kubelet has applied the last
// one.
func (c *cluster) requireConsistent(t *testing.T) {
	t.Helper()
	require.LessOrEqual(t, c.maxRequests, poolOfFour, "the scheduler's accounting")
	for _, pod := range c.all() {
		original, kept := pod.Original()
		require.Equal(t, node.Requests{"train": 500}, original, pod.Ref.Name)
		require.True(t, kept || pod.Request() == 500, pod.Ref.Name)
		require.Equal(t, pod.Request(), c.requests()[pod.Ref.Name])
		e, err := c.loop.Explain(t.Context(), pod.Ref.String())
		require.NoError(t, err)
		require.Less(t, max(e.Wanted-pod.Request(), pod.Request()-e.Wanted), growth.MilliCPU(20), "%s: the request is the decided one", pod.Ref.Name)
	}
}

// A coordinator is killed at each step of its resizes. Requests and decisions agree again within an interval. With its
// memory, the shares are right within another interval.
func TestLoop_SurvivesAKillAtEachStepOfAResize(t *testing.T) {
	want := map[string]growth.MilliCPU{"young-a": 750, "young-b": 750, "old-a": 250, "old-b": 250}
	const writes = 8 // for each pod one that saves its request, and one that resizes it
	t.Run("no kill", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			c.begin(policy.FlowCon)
			c.train(0, 8, four)
			c.requireConsistent(t)
			require.Equal(t, want, c.requests())
			require.GreaterOrEqual(t, c.calls, writes)
		})
	})
	for call := 1; call <= writes; call++ {
		for when, after := range map[string]bool{"before": false, "after": true} {
			for with, remembers := range map[string]bool{"with a memory": true, "without a memory": false} {
				t.Run(fmt.Sprintf("%s write %d, %s", when, call, with), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c := newCluster(t)
						c.killCall = call
						c.after = after
						stop := c.begin(policy.FlowCon)
						intervals := 0
						for ; !c.killed(); intervals++ {
							require.Less(t, intervals, 10)
							c.train(intervals, 1, four)
						}
						stop()
						c.memory = node.Memory{}
						if remembers {
							c.memory = c.atDeath
						}
						c.advance(3 * time.Second)
						c.begin(policy.FlowCon)
						c.train(intervals, 1, four)
						c.advance(resizeTime)
						c.requireConsistent(t)
						c.train(intervals+1, 1, four)
						c.advance(resizeTime)
						if remembers { // at least the memory of the interval before the kill
							require.Equal(t, want, c.requests(), "within another interval")
						}
						c.train(intervals+2, 8, four)
						c.requireConsistent(t)
						require.Equal(t, want, c.requests(), "the growth that was lost is learned again")
					})
				})
			}
		}
	}
}
