package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// By default the time of GPUs is divided where they compute.
func TestInventory_DecidesWhetherGPUTimeIsDivided(t *testing.T) {
	for name, tc := range map[string]struct {
		inventory bus.NodeGPUs
		divided   bool
	}{
		"real GPUs":                  {bus.NodeGPUs{}, true},
		"emulated GPUs":              {bus.NodeGPUs{Emulated: true}, false},
		"emulated GPUs that compute": {bus.NodeGPUs{Emulated: true, Computes: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				h.put(bus.GPUsKey("node"), encode(t, tc.inventory))
				h.start(policy.Harmless)
				h.arrive("a")
				h.advance(2*interval + time.Second)
				require.Equal(t, tc.divided, h.sample("a").GPUTime != nil)
			})
		})
	}
}

// What becomes of a job on a lost GPU shows its process: it fails, or does not answer. Jobs keep their turns until then.
func TestInventory_ALostGPUEndsNoTurns(t *testing.T) {
	healthy := bus.GPU{UUID: "GPU-1", Memory: 24 << 10, Healthy: true}
	lost := healthy
	lost.Healthy = false
	for name, change := range map[string]func(t *testing.T, h *harness){
		"unhealthy": func(t *testing.T, h *harness) {
			h.put(bus.GPUsKey("node"), encode(t, bus.NodeGPUs{GPUs: []bus.GPU{lost}}))
		},
		"not listed":   func(t *testing.T, h *harness) { h.put(bus.GPUsKey("node"), encode(t, bus.NodeGPUs{})) },
		"no inventory": func(t *testing.T, h *harness) { h.withdraw(bus.GPUsKey("node")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				h.put(bus.GPUsKey("node"), encode(t, bus.NodeGPUs{GPUs: []bus.GPU{healthy}}))
				h.start(policy.Harmless)
				h.arrive("a")
				h.arrive("b")
				h.advance(2*interval + time.Second)
				before := h.sample("a").GPUTime
				require.NotNil(t, before)
				change(t, h)
				h.advance(2 * interval)
				require.NotNil(t, h.sample("a").GPUTime)
				require.Equal(t, before.Share, h.sample("a").GPUTime.Share)
			})
		})
	}
}
