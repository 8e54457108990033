package advise

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// limit limits the workers of a candidate to those that fit in its shared memory.
func (c *candidate) limit() {
	if c.SharedMemory == nil {
		return
	}
	limit := c.SharedMemory.Limit(c.running.Loaders, c.running.Width, c.running.Advised)
	c.running.Limit = &limit
	c.running.Curve = c.running.Curve[:min(limit+1, len(c.running.Curve))]
}

// limitedBy explains why a candidate gets no more workers than planned, if only its shared memory prevents that: cores
// are free, and one more worker would have made it faster. It returns "" otherwise.
func (c candidate) limitedBy(planned, free int) string {
	limit := c.running.Limit
	if limit == nil || planned < *limit || planned >= maxPredicted || free < c.running.Width || !c.gainsFrom(planned+1) {
		return ""
	}
	memory := c.SharedMemory
	needs := "what a worker takes of it is not known yet"
	if memory.Observed {
		needs = fmt.Sprintf("each takes up to %s of it", memory.PerWorker)
	}
	return fmt.Sprintf("no more than %d, because another might not fit in /dev/shm, which has %s; %s. To have more, mount "+
		"an emptyDir volume with medium: Memory at /dev/shm", planned, memory.Size, needs)
}

// gainsFrom reports whether a candidate would be faster with this number of workers than with one less. A candidate
// without measurements would be if advice took workers away from it.
func (c candidate) gainsFrom(loaders int) bool {
	if len(c.running.Curve) == 0 {
		return c.running.Advised && loaders <= loader.DefaultLoaders
	}
	return float64(c.model.Rate(loaders)) > float64(c.model.Rate(loaders-1))*(1+minSpeedup)
}

// minSpeedup is the relative gain of throughput below which a worker is not missed.
const minSpeedup = 0.03

// explainLimit returns a change that only explains the limit to the user. The job keeps its workers.
func (c candidate) explainLimit(limit string) Change {
	change := c.change(c.running.Loaders, "")
	if c.Advice != nil {
		change.Advice.Reason = c.Advice.Reason
	}
	if !advisesLoaders(c.Job) {
		change.Advice.Loaders = nil // the job's own number stays its own
	}
	change.Advice.Limit = limit
	return change
}

// loadersText is the advised number of workers for the log.
func loadersText(a *bus.Advice) string {
	if a.Loaders == nil {
		return "the job's own"
	}
	return fmt.Sprint(*a.Loaders)
}
