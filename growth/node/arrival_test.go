package node_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// eventOf returns the only event of a job with a reason.
func (w *harness) eventOf(name, reason string) string {
	w.t.Helper()
	var found []string
	for _, e := range w.events {
		if text, ok := strings.CutPrefix(e, name+" "+reason+": "); ok {
			found = append(found, text)
		}
	}
	require.Len(w.t, found, 1, "%s of %s", reason, name)
	return found[0]
}

func (w *harness) allocateAll(name string, gpus ...growth.GPU) {
	c := bus.ContainerAllocation{Name: "train", Slot: "slot-" + name}
	for _, gpu := range gpus {
		c.GPUs = append(c.GPUs, growth.GPUShare{GPU: gpu, Memory: 1024})
	}
	w.allocations[ref(name).UID] = bus.Allocation{Pod: ref(name), Containers: []bus.ContainerAllocation{c}}
	w.listAllocations()
}

func TestArrival_Names(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		arrive := func(name string, change func(*node.Pod), gpus ...growth.GPU) string {
			pod := node.Pod{
				Ref:         ref(name),
				Running:     true,
				Annotations: map[string]string{gpushare.MemoryAnnotation: "2Gi"},
				Containers:  []node.Container{{Name: "train", Request: 500}},
			}
			change(&pod)
			w.apply(pod)
			w.allocateAll(name, gpus...)
			return w.eventOf(name, "JobArrived")
		}
		nothing := func(*node.Pod) {}
		require.Contains(t, arrive("one", nothing, "GPU-1"), "runs with 2GiB of GPU-1. Trellis reads its metric loss (lower is better) from its socket")
		require.Contains(t, arrive("two", nothing, "GPU-1", "GPU-2"), "2GiB on each of GPU-1, GPU-2. ")
		require.Contains(t, arrive("six", nothing, "a", "b", "c", "d", "e", "f"), "2GiB on each of a, b, c, d and 2 more. ")
		long := "file:/" + strings.Repeat("é", 200)
		require.Contains(t, arrive("file", func(p *node.Pod) { p.Annotations[gpushare.ProgressAnnotation] = long }, "GPU-1"), "from its file \"/éé")
		require.Less(t, len(w.eventOf("file", "JobArrived")), 400, "a long path is cut")
		require.Contains(t, arrive("fixed", func(p *node.Pod) { p.Fixed = "it is Guaranteed" }, "GPU-1"), "Its CPU request stays as it is")
	})
}

func TestFirstMetric_OfAJobThatWritesNoStep(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.arrive("a", gpushare.ProgressAnnotation+"=log:loss=([0-9.]+)")
		for i := range 3 {
			w.step(node.ProgressReported{
				Pod:      ref("a").UID,
				Source:   gpushare.FromLog,
				Counted:  true,
				Progress: wire.Progress{Step: int64(i + 1), Metrics: wire.Metrics{{Name: "loss", Value: 9}}},
			})
		}
		require.Equal(t, "The first value of loss is 9, at report 1; lower is better", w.eventOf("a", "FirstMetric"))
		w.remove("a")
		require.Contains(t, w.eventOf("a", "JobEnded"), "at report 3, loss 9")
	})
}

func TestArrival_WithoutAllocation(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.apply(node.Pod{
			Ref:         ref("a"),
			Running:     true,
			Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.GPUAnnotation: "GPU-7"},
			Containers:  []node.Container{{Name: "train", Request: 500}},
		})
		w.pass(time.Second)
		require.Zero(t, w.eventCount("JobArrived"), "kubelet's allocation may follow")
		w.pass(interval)
		require.Contains(t, w.eventOf("a", "JobArrived"), "1GiB of GPU-7")
		w.allocate("a")
		w.pass(interval)
		require.Equal(t, 1, w.eventCount("JobArrived"))
	})
}

func TestEvents_SurviveARestartOfTheCoordinator(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.arrive("b")
		w.report("a", 1, 5)
		w.pass(2 * interval)
		w.startSilent("c", 200)
		w.pass(2 * interval)
		shares := w.eventCount("CPUShareChanged")
		require.Equal(t, 3, shares)
		for pod, annotations := range w.annotated {
			p := w.pods[ref(pod).UID]
			for name, value := range annotations {
				p.Annotations[name] = value
			}
			w.pods[p.Ref.UID] = p
		}
		arrived, first := w.eventCount("JobArrived"), w.eventCount("FirstMetric")

		w.start(policy.Fair)
		for _, pod := range w.pods {
			w.apply(pod)
		}
		w.listAllocations()
		w.report("a", 2, 4)
		w.pass(2 * interval)
		require.Equal(t, arrived, w.eventCount("JobArrived"), "jobs that an earlier coordinator has announced")
		require.Equal(t, first, w.eventCount("FirstMetric"))
		w.startSilent("d", 1200)
		w.pass(2 * interval)
		require.Equal(t, shares+1, w.eventCount("CPUShareChanged"), "only d has its first change")
		w.remove("a")
		ended := w.eventOf("a", "JobEnded")
		require.Contains(t, ended, "loss 4 (first 5)")
		require.Contains(t, ended, "It held 35% of the node's pool on average")
	})
}
