package loop

import (
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// traffic is what a job moved and waited for, over an interval.
type traffic struct {
	block, network growth.PerSecond
	pressure       *bus.Pressure
}

// between compares two readings. A counter that went back has begun anew, and tells nothing this time.
func between(before, now cgroup.Usage, elapsed float64) traffic {
	rate := func(now, before int64) growth.PerSecond {
		if before == 0 || now < before {
			return 0
		}
		return growth.PerSecond(float64(now-before) / elapsed)
	}
	return traffic{rate(now.BlockIO, before.BlockIO), rate(now.NetworkIO, before.NetworkIO), pressure(before.Stalled, now.Stalled, elapsed)}
}

// pressure is nil where the kernel does not say.
func pressure(before, now cgroup.Stalled, elapsed float64) *bus.Pressure {
	if now == (cgroup.Stalled{}) || elapsed <= 0 {
		return nil
	}
	part := func(now, before growth.Seconds) growth.Share {
		return growth.Share(min(max(float64(now-before)/elapsed, 0), 1))
	}
	return &bus.Pressure{CPU: part(now.CPU, before.CPU), Memory: part(now.Memory, before.Memory), IO: part(now.IO, before.IO)}
}
