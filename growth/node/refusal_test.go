package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// refusing is a kubelet that does not make a pod's request more than most, or says that it will when there is room.
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

// to are the requests that were asked for a pod.
func (w *harness) to(name string) (asked []growth.MilliCPU) {
	for _, r := range w.resizes() {
		if r.Pod.Name == name {
			asked = append(asked, r.To)
		}
	}
	return asked
}

var uneven = map[string]func(int) float64{"young": falling, "old": flat}

func TestRefusal_TakesTheRequestBack(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		most := growth.MilliCPU(600)
		w.kubelet = refusing("young", node.Infeasible, &most)
		w.arrive("young")
		w.arrive("old")
		w.train(0, 7, uneven)
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 250}, w.requests(), "the other one is not given what may not be had back")
		require.Equal(t, growth.MilliCPU(750), w.load.CPUPool, "and the pool is what is there")
		require.Equal(t, growth.MilliCPU(500), w.sample("young").CPURequest)
		require.Equal(t, 1, w.eventCount("young ResizeInfeasible: A CPU request of 750m cannot be, it goes back to 500m."))
		require.Zero(t, w.eventCount("old Resize"))
		e := w.explain("young")
		require.Contains(t, e.Decisions[len(e.Decisions)-1].Outcome, "A CPU request of 750m cannot be")
		w.resizes()

		w.train(7, 60, uneven)
		require.Equal(t, []growth.MilliCPU{750, 500, 750, 500, 750, 500}, w.to("young"), "ten minutes, with one, two and four between")
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
	require.Empty(t, w.to("young"), "its patience is minutes by now")
	most = 10_000
	w.arrive("new")
	w.train(46, 6, uneven)
	require.NotEmpty(t, w.to("young"), "who is new to the node is a change, as before")
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
				require.Empty(t, w.to("young"), "its patience is minutes by now")
				most = 10_000
				change(w)
				w.train(46, 6, uneven)
				require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, w.requests())
				require.Equal(t, growth.Core, w.load.CPUPool)
			})
		})
	}
}

// kubelet keeps a deferred resize in its books and makes it as soon as there is room: asking again would not help.
func TestRefusal_DeferredIsLeftToKubelet(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		most := growth.MilliCPU(600)
		w.kubelet = refusing("young", "Deferred", &most)
		w.arrive("young")
		w.arrive("old")
		w.train(0, 12, uneven)
		require.Equal(t, []growth.MilliCPU{750}, w.to("young"))
		require.Equal(t, growth.MilliCPU(500), w.sample("young").CPURequest, "what is in force, not what was asked for")
		require.Equal(t, 1, w.eventCount("young ResizeDeferred: kubelet has not made the CPU resize to 750m yet: no room"))
	})
}

func TestRefusal_OfALowerRequestCostsTheOthers(t *testing.T) {
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

// A quota is as good a reason as a full node.
func TestRefusal_ByTheAPIServerIsNotRepeatedAllTheTime(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		w.refuse = node.ResizeRejected
		w.arrive("young")
		w.arrive("old")
		w.train(0, 30, uneven)
		require.LessOrEqual(t, len(w.to("young")), 4)
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 500}, w.requests())
		require.NotZero(t, w.eventCount("young ResizeInfeasible"))
	})
}

// A coordinator that died in between finds an infeasible request, and takes it back.
func TestRefusal_OfAnEarlierCoordinatorIsTakenBack(t *testing.T) {
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
