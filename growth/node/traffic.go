package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// traffic has a job's I/O rates, in bytes per second, and its pressure, which is nil if it is unknown.
type traffic struct {
	block, network growth.PerSecond
	pressure       *bus.Pressure
}

// trafficBetween returns the traffic between two readings. A counter that went backwards was reset and yields 0.
func trafficBetween(before, now Usage, elapsed float64) traffic {
	rate := func(now, before int64) growth.PerSecond {
		if before == 0 || now < before {
			return 0
		}
		return growth.PerSecond(float64(now-before) / elapsed)
	}
	return traffic{
		block:    rate(now.BlockIO, before.BlockIO),
		network:  rate(now.NetworkIO, before.NetworkIO),
		pressure: pressureBetween(before.Stalled, now.Stalled, elapsed),
	}
}

func partOf(time growth.Seconds, elapsed float64) growth.Share {
	return growth.Share(min(max(float64(time)/elapsed, 0), 1))
}

// pressureBetween returns nil if the kernel does not report PSI.
func pressureBetween(before, now Stalled, elapsed float64) *bus.Pressure {
	if now == (Stalled{}) || elapsed <= 0 {
		return nil
	}
	return &bus.Pressure{
		CPU:    partOf(now.CPU-before.CPU, elapsed),
		Memory: partOf(now.Memory-before.Memory, elapsed),
		IO:     partOf(now.IO-before.IO, elapsed),
	}
}
