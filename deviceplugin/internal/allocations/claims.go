package allocations

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

// claim assigns allocated ids to the demand that they most likely satisfy, until kubelet lists their holder.
type claim struct {
	ids     []string // sorted, like kubelet.ContainerDevices.IDs
	demand  slice.Key
	gpus    []growth.GPU
	created time.Time
}

// claimGracePeriod is the lifetime of a claim that kubelet never confirms, because it rejected the pod after
// Allocate.
const claimGracePeriod = time.Minute

// demandTimeout bounds the wait for a pod that kubelet knows already. It is short because kubelet admits pods
// serially.
const demandTimeout = 200 * time.Millisecond

// Demands lists the containers that kubelet will allocate for next.
func (t *Tracker) Demands() []slice.Demand {
	podList, _ := t.Pods.Pods()
	t.mu.Lock()
	satisfied := t.satisfied
	claimed := map[slice.Key]struct{}{}
	started := map[growth.PodUID][]growth.GPU{} // the GPUs of a pod's first containers; the others follow
	for _, c := range t.claims {
		claimed[c.demand] = struct{}{}
		started[c.demand.Pod] = c.gpus
	}
	t.mu.Unlock()
	demands := Demands(podList, byUID(t.reservations.View().Values), satisfied, claimed, running(t.Holdings()))
	for i, d := range demands {
		if len(d.GPUs) == 0 {
			demands[i].GPUs = started[d.Pod]
		}
	}
	return demands
}

// AwaitDemand returns the demands as soon as one of them has the given number of units. Kubelet may learn of a pod a
// few milliseconds before the pod watch does. It does not wait while the API server or the bus is unavailable.
func (t *Tracker) AwaitDemand(ctx context.Context, units int) []slice.Demand {
	ctx, cancel := context.WithTimeout(ctx, demandTimeout)
	defer cancel()
	poll := time.NewTicker(demandTimeout / 20)
	defer poll.Stop()
	for {
		demands := t.Demands()
		matching := slices.ContainsFunc(demands, func(d slice.Demand) bool { return d.Units == units })
		if matching || !t.Synced() || t.BusErr() != nil {
			return demands
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return demands
		}
	}
}

// BeginAllocate marks the start of an allocation by kubelet.
func (t *Tracker) BeginAllocate(ctx context.Context) { t.gate.beginAllocate(ctx) }

// EndAllocate marks the end of that allocation.
func (t *Tracker) EndAllocate() { t.gate.endAllocate() }

// Claim assigns allocated ids to a demand, so that the next request of the same size matches another demand.
func (t *Tracker) Claim(ids []string, parts []slice.Part) {
	name := slice.Slot(ids)
	demand, ok := slice.MatchAllocation(parts, t.Demands())
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, claimed := t.claims[name]; !ok || claimed {
		return
	}
	c := claim{ids: slices.Sorted(slices.Values(ids)), demand: demand.Key(), created: time.Now()}
	for _, p := range parts {
		c.gpus = append(c.gpus, p.GPU)
	}
	t.claims[name] = c
}

// listDevices sends a List request. markSatisfied applies the response and drops the claims that it confirms.
func (t *Tracker) listDevices(ctx context.Context) (
	listing kubelet.Listing, markSatisfied func(map[slice.Key]struct{}), err error,
) {
	finishList, err := t.gate.beginList(ctx)
	if err != nil {
		return kubelet.Listing{}, nil, err
	}
	t.mu.Lock()
	t.listSequence++
	sequence := t.listSequence
	t.mu.Unlock()
	listing, err = t.Kubelet.List(ctx)
	finishList()
	if err != nil {
		return kubelet.Listing{}, nil, err
	}
	markSatisfied = func(satisfied map[slice.Key]struct{}) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if sequence < t.latestSequence { // responses may arrive out of order
			return
		}
		t.latestSequence = sequence
		t.satisfied = satisfied
		t.devices = listing.Devices
		maps.DeleteFunc(t.claims, func(_ string, c claim) bool {
			holds := func(d kubelet.ContainerDevices) bool { return slices.Equal(d.IDs, c.ids) }
			return slices.ContainsFunc(listing.Devices, holds) || time.Since(c.created) > claimGracePeriod
		})
	}
	return listing, markSatisfied, nil
}
