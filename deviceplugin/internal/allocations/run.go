package allocations

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// resyncInterval is how often the books are compared when nothing happens.
	resyncInterval = 5 * time.Second
	// debounce lets a burst of changes become one comparison.
	debounce = 200 * time.Millisecond
)

// Run compares the books at each change and every few seconds, until ctx ends.
func (l *Tracker) Run(ctx context.Context) error {
	tick := time.NewTicker(resyncInterval)
	defer tick.Stop()
	for {
		changed := l.Pods.Changed()
		l.reconcile(ctx)
		select {
		case <-tick.C:
		case <-changed:
		case <-l.wake:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(debounce):
		case <-ctx.Done():
			return nil
		}
	}
}

// Follow mirrors this node's allocations and reservations until ctx ends.
func (l *Tracker) Follow(ctx context.Context) error {
	allocations := l.Bus.Watch(ctx, bus.AllocationsPrefix(l.Node))
	reservations := l.Bus.Watch(ctx, bus.ReservationsPrefix(l.Node))
	for allocations != nil || reservations != nil {
		select {
		case batch, ok := <-allocations:
			if !ok {
				allocations = nil
				continue
			}
			l.logRejected(l.allocations.Apply(batch).Undecodable)
			l.Metrics.BusUp.Set(up(batch.Err))
			l.wakeUp()
		case batch, ok := <-reservations:
			if !ok {
				reservations = nil
				continue
			}
			l.logRejected(l.reservations.Apply(batch).Undecodable)
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

func (l *Tracker) logRejected(entries map[string]error) {
	for key, err := range entries {
		l.Log.Warn("a record on the bus is left alone", "key", key, "reason", err)
	}
}

// BusErr says why the bus can not be reached, or nil.
func (l *Tracker) BusErr() error { return l.allocations.View().Err }

// wakeUp asks for a comparison soon.
func (l *Tracker) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// reconcile takes the books as they are now and corrects what differs from kubelet's.
func (l *Tracker) reconcile(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*observeTimeout)
	defer cancel()
	// Slots before holdings: a slot that is handed out in between is not on this list.
	slots, err := l.Slots.List()
	if err != nil {
		l.Log.Warn("slots could not be listed", "reason", err)
		slots = []slot.Folder{}
	}
	view := l.allocations.View()
	devices, markSatisfied, err := l.listDevices(ctx)
	if err != nil {
		l.Log.Warn("the books could not be compared", "reason", err)
		return
	}
	pods, synced := l.Pods.Pods()
	snapshot := Snapshot{
		Devices:    devices,
		Pods:       pods,
		PodsSynced: synced,
		Recorded:   byUID(view.Values),
		Imported:   l.importedPods(),
		Slots:      slots,
		Unit:       l.Unit,
		GPUs:       l.gpus(),
		Now:        time.Now(),
	}
	c := Reconcile(snapshot)
	markSatisfied(c.Satisfied)
	l.setImports(snapshot, c)
	l.Metrics.Pending.Set(float64(len(c.Pending)))
	l.Metrics.Drift.Set(float64(c.Drift()))
	for pod, err := range c.Pending {
		l.Log.Debug("a pod can not be written down yet", "pod", pod, "reason", err)
	}
	for _, name := range c.RemoveSlots {
		l.logCorrection("slot", l.Slots.Remove(name), "slot", name)
	}
	if view.Synced && view.Err == nil {
		l.applyToBus(ctx, c)
		if snapshot.importsComplete() && len(c.Put) == 0 { // the bus itself has told us of what was written
			l.importsPublished.set()
		}
	}
}

// applyToBus brings the bus in line.
func (l *Tracker) applyToBus(ctx context.Context, c Corrections) {
	for _, a := range c.Put {
		l.logCorrection("write", l.put(ctx, a), "pod", a.Pod.String(), "uid", a.Pod.UID)
	}
	for _, uid := range c.Delete {
		l.logCorrection("forget", l.Bus.Delete(ctx, bus.AllocationKey(l.Node, uid)), "uid", uid)
	}
}

func (l *Tracker) logCorrection(kind string, err error, attrs ...any) {
	if err != nil {
		l.Log.Warn("a correction must wait", append(attrs, "kind", kind, "reason", err)...)
		return
	}
	l.Metrics.Corrected.WithLabelValues(kind).Inc()
	l.Log.Info("corrected", append(attrs, "kind", kind)...)
}
