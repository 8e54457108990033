package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// The prior predicts 1/1.31 = 0.76 for two jobs that never wait for data.
func TestModel_PredictsSpeeds(t *testing.T) {
	learner := interference.NewLearner(interference.Prior())
	spec, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1"})
	require.NoError(t, err)
	job := interference.Member{Kind: interference.KindOf("ns", spec.Similar("train")), Activity: 1, Speed: 0.5}
	for range 20 {
		require.NoError(t, learner.Observe(interference.Measurement{Set: []interference.Member{job, job}, Seconds: 60}))
	}
	learned := bus.Interference{Learned: learner.State()}
	broken := learned
	broken.Learned.Observations = -1
	for name, tc := range map[string]struct {
		records [][]byte
		speed   float64
		source  interference.Source
	}{
		"no model":                       {nil, 0.76, interference.FromPrior},
		"a model in which jobs are slow": {[][]byte{encode(t, learned)}, 0.5, interference.FromMeasurement},
		"an invalid model":               {[][]byte{encode(t, broken)}, 0.76, interference.FromPrior},
		"a model of another version":     {[][]byte{[]byte(`{"v":99}`)}, 0.76, interference.FromPrior},
		"not JSON":                       {[][]byte{[]byte("?")}, 0.76, interference.FromPrior},
		"the second of two models":       {[][]byte{encode(t, bus.Interference{}), encode(t, learned)}, 0.5, interference.FromMeasurement},
		"a model that becomes invalid":   {[][]byte{encode(t, learned), encode(t, broken)}, 0.76, interference.FromPrior},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				h.put(bus.GPUsKey("node"), encode(t, bus.NodeGPUs{}))
				h.start(policy.Harmless)
				for _, name := range []string{"a", "b"} {
					h.arrive(name)
					h.mu.Lock()
					pod := h.pods[ref(name).UID]
					h.mu.Unlock()
					pod.Program = "train"
					h.apply(pod)
				}
				for _, record := range tc.records {
					h.put(bus.ModelKey(bus.InterferenceModel), record)
					h.advance(time.Second)
				}
				h.advance(2 * interval)
				e, err := h.loop.Explain(t.Context(), "ns/a")
				require.NoError(t, err)
				require.Len(t, e.GPU.NextTo, 1)
				require.Equal(t, tc.source, e.GPU.NextTo[0].Source)
				require.InDelta(t, tc.speed, e.GPU.NextTo[0].Speed.Mean, 0.02)
			})
		})
	}
}
