package rightsize

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/peaks"
)

// Container is the container that trains.
type Container struct {
	// Request and Limit are its present memory request and limit; 0 if it has none.
	Request, Limit growth.MiB
	// Peak is the most memory that its pod has used so far.
	Peak growth.MiB
}

// Least is the smallest request that is safe for any recommendation.
func (c Container) Least() growth.MiB {
	return c.below(growth.MiB(math.Ceil((1 + peaks.Margin) * float64(c.Peak))))
}

// below keeps a request below the limit.
func (c Container) below(request growth.MiB) growth.MiB {
	if c.Limit > 0 {
		return min(request, c.Limit-1)
	}
	return request
}

// Memory returns the memory request that the container should have, which may be its present one.
func Memory(c Container, recommended growth.MiB) growth.MiB {
	if c.Request <= 0 || c.Limit > 0 && c.Request >= c.Limit || c.Peak <= 0 || recommended <= 0 {
		return c.Request
	}
	request := max(c.below(recommended), c.Least(), 1)
	if !peaks.MemoryDiffers(c.Request, request) {
		return c.Request
	}
	return request
}
