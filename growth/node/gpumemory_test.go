package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/peaks"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// has sets the memory that the driver says a pod has on its GPU.
func (w *harness) has(name string, memory growth.MiB) {
	w.busy = node.GPUBusy{At: 1, Memory: map[growth.PodUID]growth.MiB{ref(name).UID: memory}}
}

func TestGPUMemory_OfAJobWithoutTheShim(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.pass(time.Minute)
		require.Nil(t, w.sample("a").GPUMemory, "the driver has measured nothing")
		w.has("a", 700)
		w.pass(time.Minute)
		w.has("a", 300)
		w.pass(time.Minute)
		peak := &bus.GPUMemory{Peak: 700, Requested: 1024, Measured: true}
		require.Equal(t, peak, w.sample("a").GPUMemory)
		require.Equal(t, peak, w.explain("a").GPUMemory)
		require.Equal(t, peak, w.node.Jobs()[0].GPUMemory)
		require.Equal(t, growth.MiB(700), w.sample("a").Profile.Peak().GPUUsed)
	})
}

func TestGPUMemory_AnOverRequestIsAnEvent(t *testing.T) {
	in(t, policy.Fair, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.has("a", 300)
		request := &peaks.Request{Request: 384, Low: 300, Likely: 310, High: 340}
		w.advice[ref("a").UID] = bus.Advice{Resources: &peaks.Recommendation{GPUMemory: request, Reason: "what the job has used so far"}}
		w.step(node.AdviceChanged{Advice: w.advice})
		w.pass(2 * time.Minute)
		require.Equal(t, []string{"a ResourcesRecommended: GPU memory: 1GiB requested, 384MiB recommended (peak, 80 %: 300MiB to 340MiB). " +
			"This follows from what the job has used so far"}, w.eventsOf("ResourcesRecommended"))
		require.Equal(t, request, w.explain("a").RecommendedGPUMemory)
	})
}

// The slope of the memory over the batch size, from which follows which sizes fit, is that of what was measured. PyTorch's
// allocator keeps the memory of the largest size.
func TestGPUMemory_OfABatchSize(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		j := newTrainee(w)
		j.worse = .5
		j.declares()
		declared, reserved := j.reports, growth.MiB(0)
		j.reports = func(p *wire.Progress) {
			declared(p)
			reserved = max(reserved, growth.MiB(100+2*j.batch))
			p.GPUMemory = reserved
		}
		j.run(12)
		j.advise(7, 128, 0)
		j.run(24)
		require.Equal(t, 64, j.batch, "the larger size was rolled back")
		points := w.sample("a").Batch.Points
		require.Len(t, points, 2)
		require.Equal(t, growth.MiB(128), points[1].Memory-points[0].Memory)
		require.Greater(t, points[0].Memory, growth.MiB(100+2*64), "with the driver's context, which PyTorch does not report")
	})
}

func TestGPUMemory_OfABatchSizeByTheDriver(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		j := newTrainee(w)
		j.declares()
		w.has("a", 650)
		j.run(12)
		require.Equal(t, growth.MiB(650), w.sample("a").Batch.Points[0].Memory)
	})
}
