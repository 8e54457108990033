package loop

import (
	"errors"
	"slices"
	"sync"

	"github.com/trellis-gpu/trellis/growth/node"
)

var errNoFreezer = errors.New("this coordinator freezes nothing")

// freezes are the orders to freeze and thaw that are not executed yet. They are executed one after the other, since one of them may
// take back the one before.
type freezes struct {
	mu      sync.Mutex
	waiting []node.ContainerFreeze
	busy    bool
	running sync.WaitGroup
}

// freeze executes an order in the background, because the kernel may take some time.
func (l *Loop) freeze(f node.ContainerFreeze) {
	q := &l.freezes
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, f)
	if !q.busy {
		q.busy = true
		q.running.Go(l.executeFreezes)
	}
}

func (l *Loop) executeFreezes() {
	for {
		f, due := l.freezes.next()
		if !due {
			return
		}
		result := l.executeFreeze(f)
		l.post(func() { l.step(result) })
	}
}

// next takes the oldest order; without one the queue is idle again.
func (q *freezes) next() (f node.ContainerFreeze, due bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.busy = false
		return f, false
	}
	f = q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	return f, true
}

// executeFreeze executes an order. A container that could not be frozen is not frozen, and one that could not be thawed is.
func (l *Loop) executeFreeze(f node.ContainerFreeze) node.FreezeFinished {
	err := errNoFreezer
	switch freezer := l.ports.Freezer; {
	case freezer == nil:
	case f.Frozen:
		err = freezer.Pause(f.Pod, f.Container)
	default:
		err = freezer.Resume(f.Pod, f.Container)
	}
	result := node.FreezeFinished{Pod: f.Pod, Container: f.Container, Frozen: f.Frozen == (err == nil)}
	if err != nil {
		result.Err = err.Error()
	}
	return result
}
