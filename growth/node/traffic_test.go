package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
)

func TestTrafficBetween(t *testing.T) {
	before := Usage{BlockIO: 100, NetworkIO: 1000, Stalled: Stalled{CPU: 10, IO: 2}}
	for name, tc := range map[string]struct {
		now  Usage
		want traffic
	}{
		"counters have grown":              {Usage{BlockIO: 300, NetworkIO: 5000, Stalled: Stalled{CPU: 15, Memory: 1, IO: 2}}, traffic{20, 400, &bus.Pressure{CPU: .5, Memory: .1}}},
		"counters were reset":              {Usage{BlockIO: 3, NetworkIO: 5, Stalled: Stalled{CPU: 1}}, traffic{0, 0, &bus.Pressure{}}},
		"a stall longer than the interval": {Usage{BlockIO: 100, NetworkIO: 1000, Stalled: Stalled{CPU: 90, IO: 2}}, traffic{0, 0, &bus.Pressure{CPU: 1}}},
		"the kernel reports no counters":   {Usage{}, traffic{}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, trafficBetween(before, tc.now, 10)) })
	}
	require.Zero(t, trafficBetween(Usage{}, Usage{BlockIO: 1 << 40}, 10).block, "the first reading yields no rate")
}
