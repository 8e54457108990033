package freeze

import (
	"sync"

	"github.com/trellis-gpu/trellis/growth"
)

// hold is who wants a container frozen.
type hold struct {
	users int // calls that use it, guarded by Freezer.mu

	mu          sync.Mutex
	turn, pause bool
}

// Freeze stops all processes of a container between two turns of its job. If it fails the container is not frozen.
func (f *Freezer) Freeze(pod growth.PodUID, container string) error {
	return f.change(pod, container, true, func(h *hold) (mine, other *bool) { return &h.turn, &h.pause })
}

// Thaw takes Freeze back. The processes of a container continue unless it is paused. A container that has ended is thawed.
func (f *Freezer) Thaw(pod growth.PodUID, container string) error {
	return f.change(pod, container, false, func(h *hold) (mine, other *bool) { return &h.turn, &h.pause })
}

// Pause stops all processes of a container until Resume. If it fails the container is as it was.
func (f *Freezer) Pause(pod growth.PodUID, container string) error {
	return f.change(pod, container, true, func(h *hold) (mine, other *bool) { return &h.pause, &h.turn })
}

// Resume takes Pause back. The processes of a container continue unless its job waits for its turn.
func (f *Freezer) Resume(pod growth.PodUID, container string) error {
	return f.change(pod, container, false, func(h *hold) (mine, other *bool) { return &h.pause, &h.turn })
}

// change notes what one side wants, and freezes or thaws the container if the other one does not want it frozen.
func (f *Freezer) change(pod growth.PodUID, container string, frozen bool, side func(*hold) (mine, other *bool)) (err error) {
	h := f.use(container)
	defer f.release(container, h)
	h.mu.Lock()
	defer h.mu.Unlock()
	mine, other := side(h)
	switch {
	case *other:
	case frozen:
		err = f.freeze(pod, container)
	default:
		err = f.thaw(pod, container)
	}
	if err == nil {
		*mine = frozen
	}
	return err
}

func (f *Freezer) use(container string) *hold {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.holds[container]
	if h == nil {
		h = &hold{}
		f.holds[container] = h
	}
	h.users++
	return h
}

// release forgets a container that nothing wants frozen.
func (f *Freezer) release(container string, h *hold) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.users--; h.users == 0 && !h.turn && !h.pause {
		delete(f.holds, container)
	}
}
