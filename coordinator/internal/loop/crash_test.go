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

// four jobs of half a core each: half of them stop growing.
var four = map[string]func(int) float64{"young-a": falling, "young-b": falling, "old-a": flat, "old-b": flat}

const (
	fourHave = 4 * 500 * growth.MilliCPU(1)
	// carrying is what the worker and kubelet take for a decision at most: lowering, raising and reading both back,
	// again for a wish that came meanwhile, and some.
	carrying = 8 * time.Second
)

// cluster is a world with an API server, the worker that really patches it, and a kubelet that takes a second.
type cluster struct {
	*world
	client *fake.Clientset

	mu      sync.Mutex
	calls   int  // patches that reached the API server
	dies    int  // the one at which the coordinator dies; 0 for none
	after   bool // it has been made by then
	dead    bool
	atDeath node.Memory
	most    growth.MilliCPU // that all pods together ever asked for
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{world: newWorld(t)}
	var objects []runtime.Object
	for name := range four {
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(ref(name).UID), Annotations: map[string]string{gpushare.MemoryAnnotation: "1"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "train", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
			}}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable, ContainerStatuses: []corev1.ContainerStatus{{Name: "train"}}},
		})
	}
	c.client = fake.NewClientset(objects...)
	c.client.PrependReactor("patch", "pods", c.patched)
	c.worker = func(results func(enforce.Result)) *enforce.Worker {
		return enforce.New(c.client.CoreV1(), c.world, slog.New(slog.DiscardHandler), results)
	}
	return c
}

// patched is the API server: it makes a patch, unless the coordinator dies before.
func (c *cluster) patched(action clienttesting.Action) (bool, runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	last := c.calls == c.dies && !c.dead
	if c.dead || (last && !c.after) {
		c.die()
		return true, nil, errors.New("killed")
	}
	handled, object, err := clienttesting.ObjectReaction(c.client.Tracker())(action)
	if err == nil {
		pod := object.(*corev1.Pod).DeepCopy()
		c.loop.PodUpdated(pods.Read(pod))
		time.AfterFunc(time.Second, func() { c.made(pod.Name) })
		c.most = max(c.most, c.asked())
	}
	if last {
		c.die()
	}
	return handled, object, err
}

func (c *cluster) die() {
	if !c.dead {
		c.world.mu.Lock()
		c.atDeath = c.memory
		c.world.mu.Unlock()
	}
	c.dead = true
	c.kill()
}

func (c *cluster) killed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// made is kubelet's part: it makes what is asked for by then, since two patches of one moment may reach it in any
// order.
func (c *cluster) made(name string) {
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

func (c *cluster) asked() (sum growth.MilliCPU) {
	for _, pod := range c.all() {
		sum += pod.Request()
	}
	return sum
}

// begin is a coordinator's start: it lists the pods.
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
	c.pass(time.Second) // every slot is open: what jobs say before that is not heard
	return stop
}

// consistent tells of every pod that what it was made with is not lost, and that kubelet has made what was asked for
// last.
func (c *cluster) consistent(t *testing.T) {
	t.Helper()
	require.LessOrEqual(t, c.most, fourHave, "the scheduler's books")
	for _, pod := range c.all() {
		original, kept := pod.Original()
		require.Equal(t, node.Requests{"train": 500}, original, pod.Ref.Name)
		require.True(t, kept || pod.Request() == 500, pod.Ref.Name)
		require.Equal(t, pod.Request(), c.requests()[pod.Ref.Name])
		e, err := c.loop.Explain(t.Context(), pod.Ref.String())
		require.NoError(t, err)
		require.Less(t, max(e.Wanted-pod.Request(), pod.Request()-e.Wanted), growth.MilliCPU(20), "%s: what is asked for was decided", pod.Ref.Name)
	}
}

// Wherever a coordinator is killed while it resizes, requests, decisions and books agree again within an interval, and
// within another one the shares are what they should be if its memory is there; kubelet then takes some seconds.
func TestACoordinatorIsKilledAtAnyMomentOfAResize(t *testing.T) {
	want := map[string]growth.MilliCPU{"young-a": 750, "young-b": 750, "old-a": 250, "old-b": 250}
	const writes = 8 // for each pod one that keeps its request, and one that resizes it
	t.Run("it is not", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			c.begin(policy.FlowCon)
			c.train(0, 8, four)
			c.consistent(t)
			require.Equal(t, want, c.requests())
			require.GreaterOrEqual(t, c.calls, writes)
		})
	})
	for call := 1; call <= writes; call++ {
		for when, after := range map[string]bool{"before": false, "after": true} {
			for with, remembers := range map[string]bool{"a memory": true, "none": false} {
				t.Run(fmt.Sprintf("%s write %d, with %s", when, call, with), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c := newCluster(t)
						c.dies, c.after = call, after
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
						c.pass(3 * time.Second)
						c.begin(policy.FlowCon)
						c.train(intervals, 1, four)
						c.pass(carrying)
						c.consistent(t)
						c.train(intervals+1, 1, four)
						c.pass(carrying)
						if remembers { // at least what was known an interval before it was killed
							require.Equal(t, want, c.requests(), "within another interval")
						}
						c.train(intervals+2, 8, four)
						c.consistent(t)
						require.Equal(t, want, c.requests(), "whatever was lost is learned anew")
					})
				})
			}
		}
	}
}
