package allocations

import (
	"context"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// observeTimeout bounds all of Observe, well inside the 30 s that kubelet waits for PreStartContainer.
	observeTimeout = 5 * time.Second
	// podTimeout is how long a pod that kubelet knows may take to reach us from the API server.
	podTimeout = time.Second
	// putTimeout bounds one write to the bus.
	putTimeout = time.Second
)

// Observe writes down the pod that holds ids, whose container is about to start. What can not be told now is told by
// the next comparison of the books: a start never waits for more than a moment, and never fails.
func (l *Tracker) Observe(ctx context.Context, ids []string) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	log := l.Log.With("slot", slice.Slot(ids), "units", len(ids))
	defer l.wakeUp()
	name, devices, markSatisfied, err := l.findHolder(ctx, ids)
	if err != nil {
		log.Warn("whose container starts is not known yet", "reason", err)
		return
	}
	if len(devices) == 0 {
		log.Info("whose container starts is not known yet", "reason", "kubelet does not list its devices: an init container")
		return
	}
	pod, ok := l.awaitPod(ctx, name)
	if !ok {
		log.Info("whose container starts is not known yet", "pod", name.String(), "reason", "the API server has not told us of it")
		return
	}
	markSatisfied()
	a, err := Snapshot{Unit: l.Unit, GPUs: l.gpus()}.allocation(pod, devices)
	if err != nil {
		log.Error("kubelet's devices make no sense", "pod", name.String(), "reason", err)
		return
	}
	if err := l.put(ctx, a); err != nil {
		log.Warn("an allocation waits for the bus", "pod", name.String(), "uid", pod.Ref.UID, "reason", err)
		return
	}
	log.Info("a container starts", "pod", name.String(), "uid", pod.Ref.UID, "gpus", a.GPUs())
}

// findHolder finds the pod that holds ids, with all its holdings. The pod that the ids are likely to be of is asked about
// first: kubelet's list of a full node is long, and read on every start.
//
// settle notes whose demands the answer settles. One about a single pod settles none: its claim lasts until the list is
// read.
func (l *Tracker) findHolder(ctx context.Context, ids []string) (name podName, devices []kubelet.ContainerDevices, markSatisfied func(), err error) {
	if candidate, ok := l.likelyHolder(ids); ok {
		if devices, err := l.Kubelet.Get(ctx, candidate.namespace, candidate.pod); err == nil && holdsAny(devices, ids) {
			return candidate, devices, func() {}, nil
		}
	}
	listed, satisfy, err := l.listDevices(ctx)
	if err != nil {
		return podName{}, nil, nil, err
	}
	for name, devices := range byPod(listed) {
		if holdsAny(devices, ids) {
			return name, devices, func() {
				pods, _ := l.Pods.Pods()
				satisfy(satisfiedContainers(listed, byName(pods)))
			}, nil
		}
	}
	return podName{}, nil, nil, nil
}

// likelyHolder is the pod to which ids were handed out lately, as far as one can tell, or that was seen to hold them before.
func (l *Tracker) likelyHolder(ids []string) (podName, bool) {
	slot := slice.Slot(ids)
	l.mu.Lock()
	c, claimed := l.claims[slot]
	l.mu.Unlock()
	if claimed {
		pods, _ := l.Pods.Pods()
		at := slices.IndexFunc(pods, func(p Pod) bool { return p.Ref.UID == c.demand.Pod })
		if at < 0 {
			return podName{}, false
		}
		return pods[at].name(), true
	}
	for _, a := range l.allocations.View().Values {
		if slices.ContainsFunc(a.Containers, func(c bus.ContainerAllocation) bool { return c.Slot == slot }) {
			return podName{a.Pod.Namespace, a.Pod.Name}, true
		}
	}
	return podName{}, false
}

// holdsAny tells whether a pod holds any of ids. Ids are never shared between pods, and an init container's are used again by
// the containers after it, so one common id is proof.
func holdsAny(devices []kubelet.ContainerDevices, ids []string) bool {
	return slices.ContainsFunc(devices, func(c kubelet.ContainerDevices) bool {
		return slices.ContainsFunc(c.IDs, func(id string) bool { return slices.Contains(ids, id) })
	})
}

// awaitPod looks a pod up, and waits a moment for the API server's news of it. A pod that is leaving is taken for the
// predecessor of the one that starts.
func (l *Tracker) awaitPod(ctx context.Context, name podName) (Pod, bool) {
	ctx, cancel := context.WithTimeout(ctx, podTimeout)
	defer cancel()
	for {
		changed := l.Pods.Changed()
		pods, known := l.Pods.Pods()
		if pod, ok := byName(pods)[name]; ok && !pod.Finished && !pod.Terminating {
			return *pod, true
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

// put puts an allocation on the bus. While the bus is known to be away it does not even try.
func (l *Tracker) put(ctx context.Context, a bus.Allocation) error {
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
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	_, err = l.Bus.Put(ctx, key, value, bus.Persistent)
	return err
}
