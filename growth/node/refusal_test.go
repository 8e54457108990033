package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// refusing returns a kubelet that refuses requests of a pod above most, with a PodResizePending condition of this
// reason.
func refusing(name, reason string, most *growth.MilliCPU) func(before, asked node.Pod) node.Pod {
	return func(before, asked node.Pod) node.Pod {
		c := &asked.Containers[0]
		c.Allocated, asked.ResizeStatus = c.Request, node.ResizeStatus{}
		if before.Ref.Name == name && c.Request > *most {
			c.Allocated = before.Allocated().Sum()
			asked.ResizeStatus = node.ResizeStatus{Reason: reason, Message: "no room"}
		}
		return asked
	}
}

// requested returns the new requests of a pod's resizes since the last call.
func (w *harness) requested(name string) (asked []growth.MilliCPU) {
	for _, r := range w.resizes() {
		if r.Pod.Name == name {
			asked = append(asked, r.To)
		}
	}
	return asked
}

// uneven has one growing and one converged job.
var uneven = map[string]func(int) float64{"young": falling, "old": flat}

func TestRefusal_UndoesAnInfeasibleResize(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		most := growth.MilliCPU(600)
		w.kubelet = refusing("young", node.Infeasible, &most)
		w.arrive("young")
		w.arrive("old")
		w.train(0, 7, uneven)
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 250}, w.requests(), "the other job does not get the refused part")
		require.Equal(t, growth.MilliCPU(750), w.load.CPUPool, "the pool shrinks to the requests in force")
		require.Equal(t, growth.MilliCPU(500), w.sample("young").CPURequest)
		require.Equal(t, 1, w.eventCount("young ResizeInfeasible: A CPU request of 750m was refused; it goes back to 500m."))
		require.Zero(t, w.eventCount("old Resize"))
		e := w.explain("young")
		require.Contains(t, e.Decisions[len(e.Decisions)-1].Outcome, "A CPU request of 750m was refused")
		w.resizes()

		w.train(7, 60, uneven)
		require.Equal(t, []growth.MilliCPU{750, 500, 750, 500, 750, 500}, w.requested("young"), "ten minutes, with a backoff of one, two and four minutes")
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 250}, w.requests())
	})
}

func TestRefusal_SurvivesARestart(t *testing.T) {
	w := newHarness(t)
	w.start(policy.FlowCon)
	most := growth.MilliCPU(600)
	w.kubelet = refusing("young", node.Infeasible, &most)
	w.arrive("young")
	w.arrive("old")
	w.train(0, 40, uneven)
	w.resizes()

	w.start(policy.FlowCon)
	for _, pod := range w.pods {
		w.apply(pod)
	}
	w.train(40, 6, uneven)
	require.Empty(t, w.requested("young"), "the backoff is several minutes")
	most = 10_000
	w.arrive("new")
	w.train(46, 6, uneven)
	require.NotEmpty(t, w.requested("young"), "an arrival permits an early retry")
}

func TestRefusal_IsRetriedWhenTheNodeChanges(t *testing.T) {
	for name, change := range map[string]func(w *harness){
		"a job arrives and leaves": func(w *harness) { w.arrive("new"); w.pass(time.Second); w.remove("new") },
		"the node grows":           func(w *harness) { w.step(node.CapacityChanged{CPU: 3 * growth.Core}) },
		"the pod's limit changes": func(w *harness) {
			pod, _ := w.pod(ref("young").UID)
			pod.Containers = []node.Container{{Name: "train", Request: 500, Limit: 4000}}
			w.apply(pod)
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.FlowCon, func(t *testing.T, w *harness) {
				most := growth.MilliCPU(600)
				w.kubelet = refusing("young", node.Infeasible, &most)
				w.arrive("young")
				w.arrive("old")
				w.train(0, 40, uneven)
				w.resizes()
				w.train(40, 6, uneven)
				require.Empty(t, w.requested("young"), "the backoff is several minutes")
				most = 10_000
				change(w)
				w.train(46, 6, uneven)
				require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, w.requests())
				require.Equal(t, growth.Core, w.load.CPUPool)
			})
		})
	}
}

// Kubelet accounts a deferred resize and applies it as soon as there is room, so a retry would not help.
func TestRefusal_DoesNotRetryADeferredResize(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		most := growth.MilliCPU(600)
		w.kubelet = refusing("young", "Deferred", &most)
		w.arrive("young")
		w.arrive("old")
		w.train(0, 12, uneven)
		require.Equal(t, []growth.MilliCPU{750}, w.requested("young"))
		require.Equal(t, growth.MilliCPU(500), w.sample("young").CPURequest, "the request in force, not the requested one")
		require.Equal(t, 1, w.eventCount("young ResizeDeferred: kubelet has not applied the CPU resize to 750m yet: no room"))
	})
}

func TestRefusal_OfADecreaseReducesOtherJobs(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		w.kubelet = func(before, asked node.Pod) node.Pod {
			asked.Containers[0].Allocated = asked.Containers[0].Request
			if before.Ref.Name == "old" && asked.Request() < 500 {
				asked.Containers[0].Allocated, asked.ResizeStatus = 500, node.ResizeStatus{Reason: node.Infeasible, Message: "exclusive CPUs"}
			}
			return asked
		}
		w.arrive("young")
		w.arrive("old")
		w.train(0, 20, uneven)
		require.LessOrEqual(t, w.requests()["young"]+w.requests()["old"], growth.Core)
		require.Equal(t, growth.MilliCPU(500), w.requests()["old"])
	})
}

// The API server can reject a resize as well, for example because of a quota.
func TestRefusal_ByTheAPIServerIsRetriedWithBackoff(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		w.refuse = node.ResizeRejected
		w.arrive("young")
		w.arrive("old")
		w.train(0, 30, uneven)
		require.LessOrEqual(t, len(w.requested("young")), 4)
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 500}, w.requests())
		require.NotZero(t, w.eventCount("young ResizeInfeasible"))
	})
}

// The earlier coordinator died after a resize that kubelet found infeasible.
func TestRefusal_UndoesAnInfeasibleResizeOfAnEarlierCoordinator(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		w.arrive("old")
		pod := w.pods[ref("old").UID]
		pod.Ref = ref("young")
		pod.Containers = []node.Container{{Name: "train", Request: 500, Allocated: 400}}
		pod.ResizeStatus = node.ResizeStatus{Reason: node.Infeasible, Message: "no room"}
		most := growth.MilliCPU(400)
		w.kubelet = refusing("young", node.Infeasible, &most)
		w.apply(pod)
		w.pass(interval)
		require.Equal(t, growth.MilliCPU(400), w.requests()["young"])
		require.Equal(t, 1, w.eventCount("young ResizeInfeasible"))
	})
}
