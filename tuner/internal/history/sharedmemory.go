package history

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// minObserved is the number of intervals with workers after which their use of shared memory counts as observed. The
// first workers are still filling their queues.
const minObserved = 3

// sharedMemory is what the samples of a job show about its workers' use of shared memory.
type sharedMemory struct {
	perWorker growth.MiB // the most for each worker per device
	intervals int        // with workers
}

// add adds the sample of an interval in which the workers did not change.
func (m sharedMemory) add(s bus.Sample) sharedMemory {
	if s.SharedMemory == nil || *s.Loaders <= 0 {
		return m
	}
	workers := growth.MiB(min(*s.Loaders, loader.MaxLoaders))
	m.perWorker = max(m.perWorker, (max(0, s.SharedMemory.Used)+workers-1)/workers)
	m.intervals = min(m.intervals+1, minObserved)
	return m
}

// state returns the state of a job's shared memory, or nil if its sample has none.
func (m sharedMemory) state(s *bus.Sample) *loader.SharedMemory {
	if s == nil || s.SharedMemory == nil || s.SharedMemory.Size <= 0 {
		return nil
	}
	return &loader.SharedMemory{
		Size:      s.SharedMemory.Size,
		Used:      max(0, s.SharedMemory.Used),
		PerWorker: m.perWorker,
		Observed:  m.intervals >= minObserved,
	}
}
