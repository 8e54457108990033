package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// observeWithin bounds all of Observe, well inside the 30 s that kubelet waits for PreStartContainer.
	observeWithin = 5 * time.Second
	// podWithin is how long a pod that kubelet knows may take to reach us from the API server.
	podWithin = time.Second
	// writeWithin bounds one write to the bus.
	writeWithin = time.Second
)

// Observe writes down the pod that holds ids, whose container is about to start. What can not be told now is told by
// the next comparison of the books: a start never waits for more than a moment, and never fails.
func (l *Ledger) Observe(ctx context.Context, ids []string) {
	ctx, cancel := context.WithTimeout(ctx, observeWithin)
	defer cancel()
	log := l.Log.With("slot", slice.Slot(ids), "units", len(ids))
	defer l.rouse()
	holdings, settle, err := l.holdings(ctx)
	if err != nil {
		log.Warn("whose container starts is not known yet", "reason", err)
		return
	}
	key, of := holderOf(ids, holdings)
	if key == "" {
		log.Info("whose container starts is not known yet", "reason", "kubelet does not list its devices: an init container")
		return
	}
	pod, ok := l.await(ctx, key)
	if !ok {
		log.Info("whose container starts is not known yet", "pod", key, "reason", "the API server has not told us of it")
		return
	}
	pods, known := l.Pods.Pods()
	books := Books{Holdings: holdings, Pods: pods, PodsKnown: known, Unit: l.Unit, GPUs: l.gpus()}
	settle(Balance(books).Settled)
	a, err := books.allocation(pod, of)
	if err != nil {
		log.Error("kubelet's devices make no sense", "pod", key, "reason", err)
		return
	}
	if err := l.write(ctx, a); err != nil {
		log.Warn("an allocation waits for the bus", "pod", key, "uid", pod.Ref.UID, "reason", err)
		return
	}
	log.Info("a container starts", "pod", key, "uid", pod.Ref.UID, "gpus", a.GPUs())
}

// holderOf finds the pod that holds any of ids, with all its holdings. Ids are never shared between pods, and an init
// container's are used again by the containers after it, so one common id is proof.
func holderOf(ids []string, holdings []kubelet.Holding) (string, []kubelet.Holding) {
	for key, of := range byPod(holdings) {
		if slices.ContainsFunc(of, func(h kubelet.Holding) bool {
			return slices.ContainsFunc(h.IDs, func(id string) bool { return slices.Contains(ids, id) })
		}) {
			return key, of
		}
	}
	return "", nil
}

// await looks a pod up, and waits a moment for the API server's news of it. A pod that is leaving is taken for the
// predecessor of the one that starts.
func (l *Ledger) await(ctx context.Context, key string) (Pod, bool) {
	ctx, cancel := context.WithTimeout(ctx, podWithin)
	defer cancel()
	for {
		changed := l.Pods.Changed()
		pods, known := l.Pods.Pods()
		if pod, ok := holder(pods, key); ok && !pod.Finished && !pod.Leaving {
			return pod, true
		}
		if !known { // the API server is away: no use in waiting
			return Pod{}, false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Pod{}, false
		}
	}
}

// write puts an allocation on the bus. While the bus is known to be away it does not even try.
func (l *Ledger) write(ctx context.Context, a bus.Allocation) error {
	view := l.allocations.View()
	if view.Err != nil {
		return view.Err
	}
	key := bus.AllocationKey(l.Node, a.Pod.UID)
	if recorded, ok := view.Values[key]; ok && same(a, recorded) {
		return nil
	}
	a.Header = view.Values[key].Header // a newer version's fields stay
	value, err := bus.Encode(a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	_, err = l.Bus.Put(ctx, key, value, bus.Persistent)
	return err
}
