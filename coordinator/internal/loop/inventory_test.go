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
