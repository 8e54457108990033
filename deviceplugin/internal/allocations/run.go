package allocations

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// resyncInterval is the time between reconciliations without changes.
	resyncInterval = 5 * time.Second
	// debounce joins a burst of changes into one reconciliation.
	debounce = 200 * time.Millisecond
)

// Run reconciles at each change and at every resyncInterval, until ctx ends.
func (t *Tracker) Run(ctx context.Context) error {
	tick := time.NewTicker(resyncInterval)
	defer tick.Stop()
	for {
		changed := t.Pods.Changed()
		t.reconcile(ctx)
		select {
		case <-tick.C:
		case <-changed:
		case <-t.wake:
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

// Follow mirrors this node's allocation records and reservations until ctx ends.
func (t *Tracker) Follow(ctx context.Context) error {
	allocations := t.Bus.Watch(ctx, bus.AllocationsPrefix(t.Node))
	reservations := t.Bus.Watch(ctx, bus.ReservationsPrefix(t.Node))
	for allocations != nil || reservations != nil {
		select {
		case batch, ok := <-allocations:
			if !ok {
				allocations = nil
				continue
			}
			t.logRejected(t.allocations.Apply(batch).Undecodable)
			t.Metrics.BusUp.Set(up(batch.Err))
			t.wakeUp()
		case batch, ok := <-reservations:
			if !ok {
				reservations = nil
				continue
			}
			t.logRejected(t.reservations.Apply(batch).Undecodable)
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

func (t *Tracker) logRejected(entries map[string]error) {
	for key, err := range entries {
		t.Log.Warn("an undecodable record on the bus is ignored", "key", key, "err", err)
	}
}

// BusErr explains why the bus is unavailable; it is nil while the bus is connected.
func (t *Tracker) BusErr() error { return t.allocations.View().Err }

// wakeUp requests a reconciliation.
func (t *Tracker) wakeUp() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// reconcile takes a snapshot and applies its corrections.
func (t *Tracker) reconcile(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*observeTimeout)
	defer cancel()
	// List slots before devices: a slot created in between is then not a candidate for removal.
	slots, err := t.Slots.List()
	if err != nil {
		t.Log.Warn("slots could not be listed", "err", err)
		slots = []slot.Dir{}
	}
	t.setSlots(slots)
	view := t.allocations.View()
	listing, markSatisfied, err := t.listDevices(ctx)
	if err != nil {
		t.Log.Warn("kubelet's allocations could not be listed", "err", err)
		return
	}
	podList, synced := t.Pods.Pods()
	snapshot := Snapshot{
		Devices:    listing.Devices,
		Listed:     listing.Pods,
		Pods:       podList,
		PodsSynced: synced,
		Recorded:   byUID(view.Values),
		Imported:   t.importedPods(),
		Slots:      slots,
		Unit:       t.Unit,
		GPUs:       t.gpus(),
		Boot:       t.Boot,
		Now:        time.Now(),
	}
	c := Reconcile(snapshot)
	markSatisfied(c.Satisfied)
	t.setImports(snapshot, c)
	t.Metrics.Pending.Set(float64(len(c.Pending)))
	t.Metrics.Drift.Set(float64(c.Drift()))
	for _, dir := range slots {
		if owner, ok := c.Owners[dir.Name]; ok {
			t.setOwner(dir.Name, dir.IDs, owner)
		}
	}
	for pod, err := range c.Pending {
		t.Log.Debug("a pod's allocation cannot be recorded yet", "pod", pod, "err", err)
	}
	for _, name := range c.RemoveSlots {
		t.logCorrection("slot", t.Slots.Remove(name), "slot", name)
	}
	if view.Synced && view.Err == nil {
		t.applyToBus(ctx, c)
		if snapshot.importsComplete() && len(c.Put) == 0 { // the bus has confirmed all records
			t.importsPublished.set()
		}
	}
	t.reportForgotten(ctx, c.Forgotten)
}

// applyToBus writes and deletes allocation records.
func (t *Tracker) applyToBus(ctx context.Context, c Corrections) {
	for _, a := range c.Put {
		t.logCorrection("write", t.put(ctx, a), "pod", a.Pod.String(), "uid", a.Pod.UID)
	}
	for _, uid := range c.Delete {
		t.logCorrection("forget", t.Bus.Delete(ctx, bus.AllocationKey(t.Node, uid)), "uid", uid)
	}
}

func (t *Tracker) logCorrection(kind string, err error, attrs ...any) {
	if err != nil {
		t.Log.Warn("a correction failed and will be tried again", append(attrs, "kind", kind, "err", err)...)
		return
	}
	t.Metrics.Corrected.WithLabelValues(kind).Inc()
	t.Log.Info("corrected", append(attrs, "kind", kind)...)
}
