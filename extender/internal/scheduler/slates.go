package scheduler

import "sync"

// slates are lists, one entry for each node of a question, that are used again and again. There are two for each pod, as long
// as the cluster has nodes, and what the collector has to pick up it picks up while the scheduler waits. The zero value is
// ready.
type slates[T any] struct{ pool sync.Pool }

// take returns a list of zero values.
func (s *slates[T]) take(length int) []T {
	if list, ok := s.pool.Get().(*[]T); ok && cap(*list) >= length {
		return (*list)[:length]
	}
	return make([]T, length, length+length/4)
}

func (s *slates[T]) give(list []T) {
	clear(list) // what it points to is not to outlive what it is about
	s.pool.Put(&list)
}
