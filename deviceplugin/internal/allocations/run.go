package allocations

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// compareEvery is how often the books are compared when nothing happens.
	compareEvery = 5 * time.Second
	// settleFor lets a burst of changes become one comparison.
	settleFor = 200 * time.Millisecond
)

// Run compares the books at each change and every few seconds, until ctx ends.
func (l *Ledger) Run(ctx context.Context) error {
	tick := time.NewTicker(compareEvery)
	defer tick.Stop()
	for {
		changed := l.Pods.Changed()
		l.compare(ctx)
		select {
		case <-tick.C:
		case <-changed:
		case <-l.wake:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(settleFor):
		case <-ctx.Done():
			return nil
		}
	}
}

// Follow mirrors this node's allocations and reservations until ctx ends.
func (l *Ledger) Follow(ctx context.Context) error {
	allocations := l.Bus.Watch(ctx, bus.AllocationsPrefix(l.Node))
	reservations := l.Bus.Watch(ctx, bus.ReservationsPrefix(l.Node))
	for allocations != nil || reservations != nil {
		select {
		case batch, ok := <-allocations:
			if !ok {
				allocations = nil
				continue
			}
			l.refused(l.allocations.Apply(batch).Undecodable)
			l.Metrics.BusUp.Set(up(batch.Err))
			l.rouse()
		case batch, ok := <-reservations:
			if !ok {
				reservations = nil
				continue
			}
			l.refused(l.reservations.Apply(batch).Undecodable)
		}
	}
	return nil
}

func up(err error) float64 {
	if err != nil {
		return 0
	}
	return 1
}

func (l *Ledger) refused(entries map[string]error) {
	for key, reason := range entries {
		l.Log.Warn("a record on the bus is left alone", "key", key, "reason", reason)
	}
}

// Away says why the bus can not be reached, or nil.
func (l *Ledger) Away() error { return l.allocations.View().Err }

// rouse asks for a comparison soon.
func (l *Ledger) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// compare takes the books as they are now and corrects what differs from kubelet's.
func (l *Ledger) compare(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*observeWithin)
	defer cancel()
	// Slots before holdings: a slot that is handed out in between is not on this list.
	folders, err := l.Slots.List()
	if err != nil {
		l.Log.Warn("slots could not be listed", "reason", err)
		folders = []slot.Folder{}
	}
	view := l.allocations.View()
	holdings, settle, err := l.holdings(ctx)
	if err != nil {
		l.Log.Warn("the books could not be compared", "reason", err)
		return
	}
	pods, known := l.Pods.Pods()
	books := Books{
		Holdings:  holdings,
		Pods:      pods,
		PodsKnown: known,
		Recorded:  byUID(view.Values),
		Imported:  l.known(),
		Slots:     folders,
		Unit:      l.Unit,
		GPUs:      l.gpus(),
		Now:       time.Now(),
	}
	c := Balance(books)
	settle(c.Settled)
	l.adopt(books, c)
	l.Metrics.Pending.Set(float64(len(c.Pending)))
	l.Metrics.Drift.Set(float64(c.Drift()))
	for pod, reason := range c.Pending {
		l.Log.Debug("a pod can not be written down yet", "pod", pod, "reason", reason)
	}
	for _, name := range c.Remove {
		l.corrected("slot", l.Slots.Remove(name), "slot", name)
	}
	if view.Synced && view.Err == nil {
		l.correct(ctx, c)
		if books.looked() && len(c.Write) == 0 { // the bus itself has told us of what was written
			l.booked.reach()
		}
	}
}

// correct brings the bus in line.
func (l *Ledger) correct(ctx context.Context, c Corrections) {
	for _, a := range c.Write {
		l.corrected("write", l.write(ctx, a), "pod", a.Pod.String(), "uid", a.Pod.UID)
	}
	for _, uid := range c.Forget {
		l.corrected("forget", l.Bus.Delete(ctx, bus.AllocationKey(l.Node, uid)), "uid", uid)
	}
}

func (l *Ledger) corrected(kind string, err error, about ...any) {
	if err != nil {
		l.Log.Warn("a correction must wait", append(about, "kind", kind, "reason", err)...)
		return
	}
	l.Metrics.Corrected.WithLabelValues(kind).Inc()
	l.Log.Info("corrected", append(about, "kind", kind)...)
}
