package clustersim

// queue has the workers to which something may happen, the earliest first (container/heap).
type queue []*worker

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due < q[j].due }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

// Push is for container/heap.
func (q *queue) Push(x any) {
	w := x.(*worker)
	w.at = len(*q)
	*q = append(*q, w)
}

// Pop is for container/heap.
func (q *queue) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	w.at = absent
	*q = (*q)[:last]
	return w
}

// absent is the place in the queue of a worker that is not in it.
const absent = -1
