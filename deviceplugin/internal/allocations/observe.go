package allocations

import (
	"context"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// observeTimeout bounds Observe, well below the 30 s that kubelet waits for PreStartContainer.
	observeTimeout = 5 * time.Second
	// podTimeout bounds the wait for a pod that kubelet knows before the pod watch has reported it.
	podTimeout = time.Second
	// putTimeout bounds one write to the bus.
	putTimeout = time.Second
)

// Observe records the pod that holds the ids, whose container is about to start. It never fails and
// waits only briefly. If the pod is not known yet, the next reconciliation records it.
func (t *Tracker) Observe(ctx context.Context, ids []string) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	log := t.Log.With("slot", slice.Slot(ids), "units", len(ids))
	defer t.wakeUp()
	name, devices, markSatisfied, err := t.findHolder(ctx, ids)
	if err != nil {
		log.Warn("the starting container's pod is not known yet", "err", err)
		return
	}
	if len(devices) == 0 {
		t.recordInitOwner(ids)
		log.Info("the starting container's pod is not known yet",
			"reason", "kubelet does not list its devices, as for an init container")
		return
	}
	pod, ok := t.awaitPod(ctx, name)
	if !ok {
		log.Info("the starting container's pod is not known yet",
			"pod", name.String(), "reason", "the API server has not reported it")
		return
	}
	markSatisfied()
	t.recordOwner(pod, devices, ids)
	a, err := Snapshot{Unit: t.Unit, GPUs: t.gpus()}.allocation(pod, devices)
	if err != nil {
		log.Error("kubelet's device ids are invalid", "pod", name.String(), "err", err)
		return
	}
	if err := t.put(ctx, a); err != nil {
		log.Warn("an allocation record is delayed, the bus is unavailable", "pod", name.String(), "uid", pod.Ref.UID, "err", err)
		return
	}
	log.Info("a container starts", "pod", name.String(), "uid", pod.Ref.UID, "gpus", a.GPUs())
}

// findHolder finds the pod that holds the ids, with all its devices. It queries the likely pod first, because
// kubelet's list of a full node is long and findHolder runs before every container start.
//
// markSatisfied records whose demands the response satisfies. A response about a single pod satisfies none; its claim
// stays until the next List.
func (t *Tracker) findHolder(ctx context.Context, ids []string) (
	name podName, devices []kubelet.ContainerDevices, markSatisfied func(), err error,
) {
	if candidate, ok := t.likelyHolder(ids); ok {
		devices, err := t.Kubelet.Get(ctx, candidate.namespace, candidate.pod)
		if err == nil && holdsAny(devices, ids) {
			return candidate, devices, func() {}, nil
		}
	}
	listed, satisfy, err := t.listDevices(ctx)
	if err != nil {
		return podName{}, nil, nil, err
	}
	for name, devices := range byPod(listed.Devices) {
		if holdsAny(devices, ids) {
			return name, devices, func() {
				podList, _ := t.Pods.Pods()
				satisfy(satisfiedContainers(listed.Devices, byName(podList)))
			}, nil
		}
	}
	return podName{}, nil, nil, nil
}

// likelyHolder returns the pod that the ids were claimed for, or the pod that the bus records for them.
func (t *Tracker) likelyHolder(ids []string) (podName, bool) {
	slot := slice.Slot(ids)
	t.mu.Lock()
	c, claimed := t.claims[slot]
	t.mu.Unlock()
	if claimed {
		podList, _ := t.Pods.Pods()
		at := slices.IndexFunc(podList, func(p pods.Pod) bool { return p.Ref.UID == c.demand.Pod })
		if at < 0 {
			return podName{}, false
		}
		return nameOf(podList[at]), true
	}
	for _, a := range t.allocations.View().Values {
		if slices.ContainsFunc(a.Containers, func(c bus.ContainerAllocation) bool { return c.Slot == slot }) {
			return podName{a.Pod.Namespace, a.Pod.Name}, true
		}
	}
	return podName{}, false
}

// holdsAny reports whether the containers of a pod hold any of the ids. One common id is proof: pods never share ids,
// and the containers of a pod reuse those of its init containers.
func holdsAny(devices []kubelet.ContainerDevices, ids []string) bool {
	return slices.ContainsFunc(devices, func(c kubelet.ContainerDevices) bool {
		return slices.ContainsFunc(c.IDs, func(id string) bool { return slices.Contains(ids, id) })
	})
}

// awaitPod returns the named pod and waits up to podTimeout for the pod watch. A terminating pod of that name is the
// predecessor of the one that starts, and does not count.
func (t *Tracker) awaitPod(ctx context.Context, name podName) (pods.Pod, bool) {
	ctx, cancel := context.WithTimeout(ctx, podTimeout)
	defer cancel()
	for {
		changed := t.Pods.Changed()
		podList, known := t.Pods.Pods()
		if pod, ok := byName(podList)[name]; ok && !pod.Finished && !pod.Terminating {
			return *pod, true
		}
		if !known { // the API server is unavailable: do not wait
			return pods.Pod{}, false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return pods.Pod{}, false
		}
	}
}

// put writes an allocation record. It fails at once while the bus is known to be unavailable.
func (t *Tracker) put(ctx context.Context, a bus.Allocation) error {
	view := t.allocations.View()
	if view.Err != nil {
		return view.Err
	}
	key := bus.AllocationKey(t.Node, a.Pod.UID)
	if recorded, ok := view.Values[key]; ok && same(a, recorded) {
		return nil
	}
	a.Header = view.Values[key].Header // keep the fields of newer versions
	value, err := bus.Encode(a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	_, err = t.Bus.Put(ctx, key, value, bus.Persistent)
	return err
}
