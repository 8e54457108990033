package decide

import (
	"sync"

	"github.com/trellis-gpu/trellis/extender/internal/view"
)

// slates are lists of verdicts that are used again and again. There are two for each pod, as long as the cluster has nodes,
// and what the collector has to pick up it picks up while the scheduler waits. The zero value is ready.
type slates struct{ pool sync.Pool }

func (s *slates) take(length int) []*view.Verdict {
	if list, ok := s.pool.Get().(*[]*view.Verdict); ok && cap(*list) >= length {
		return (*list)[:length]
	}
	return make([]*view.Verdict, length, length+length/4)
}

func (s *slates) give(list []*view.Verdict) {
	clear(list) // verdicts are not to outlive what they are about
	s.pool.Put(&list)
}
