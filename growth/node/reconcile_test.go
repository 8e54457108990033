package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// startSilent starts a pod with the given request that reports nothing.
func (w *harness) startSilent(name string, request growth.MilliCPU) {
	w.apply(node.Pod{
		Ref: ref(name), Running: true, Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
		Containers: []node.Container{{Name: "train", Request: request}},
	})
}

// resizes returns the resizes since the last call.
func (w *harness) resizes() []node.Resize {
	resized := w.resized
	w.resized = nil
	return resized
}

func TestReconcile_SkipsSmallChanges(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.startSilent("a", 500)
		w.startSilent("b", 504)
		w.pass(time.Second)
		require.Equal(t, map[string]growth.MilliCPU{"a": 502, "b": 502}, w.requests(), "the first resize is made regardless of its size")
		w.resizes()

		w.startSilent("c", 520)
		w.pass(2 * interval)
		require.Equal(t, map[string]growth.MilliCPU{"a": 502, "b": 502, "c": 508}, w.requests())
		require.Len(t, w.resizes(), 1)
		a := w.sample("a")
		require.Equal(t, growth.MilliCPU(502), a.CPURequest, "the request in force")
		require.InDelta(t, 1./3, float64(a.Share), 1e-9, "the decided share")
		e := w.explain("a")
		require.Equal(t, []growth.MilliCPU{502, 508}, []growth.MilliCPU{e.Request, e.Wanted})
		require.Equal(t, "the request stays 502m: a change to 508m is too small", e.Decisions[len(e.Decisions)-1].Outcome)
		require.Equal(t, 1, w.eventCount("a CPUShareChanged"))

		w.startSilent("d", 576)
		w.pass(2 * interval)
		require.Equal(t, map[string]growth.MilliCPU{"a": 525, "b": 525, "c": 525, "d": 525}, w.requests(), "small changes accumulate")
	})
}

func TestReconcile_StaysWithinThePool(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.startSilent("a", 1000)
		w.startSilent("b", 1010)
		w.pass(time.Second)
		require.Equal(t, map[string]growth.MilliCPU{"a": 1005, "b": 1005}, w.requests())
		w.startSilent("c", 980)
		w.pass(2 * interval)
		require.Equal(t, map[string]growth.MilliCPU{"a": 996, "b": 996, "c": 996}, w.requests(), "the increase of c forces small reductions")
		w.remove("c")
		w.pass(2 * interval)
		require.Equal(t, map[string]growth.MilliCPU{"a": 996, "b": 996}, w.requests(), "the increases are too small to be made")
	})
}

func TestReconcile_LateResultNamesItsOwnShare(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.held = true
		w.startSilent("a", 600)
		w.startSilent("b", 200)
		w.pass(time.Second)
		late := w.resizes()
		require.Len(t, late, 2)
		w.remove("b")
		w.pass(2 * interval)
		require.Equal(t, growth.Share(1), w.sample("a").Share)
		for _, target := range late {
			w.step(node.ResizeFinished{Resize: target, Weight: int64(target.To), Verified: true})
		}
		w.pass(time.Second)
		require.Equal(t, 1, w.eventCount("a CPUShareChanged: CPU request 600m → 400m, 50% of the node's pool"))
	})
}
