package slice

import (
	"cmp"
	"slices"
	"time"
)

// Holding is a container of a live pod, with the ids that it has by the node's own records. A kubelet that has lost its
// checkpoint offers these ids as free.
type Holding struct {
	Key
	// Name is the namespace and name of the pod.
	Name    string
	Created time.Time
	IDs     []string
	// Init marks an init container that is not a sidecar. Kubelet never lists its ids.
	Init bool
	// Running is whether the container may be running, which means that its memory and its slot are in use.
	Running bool
}

// Holders returns the holdings that have any of the ids.
func Holders(holdings []Holding, ids []string) []Holding {
	wanted := make(map[string]struct{}, len(ids))
	for _, id := range ids {
		wanted[id] = struct{}{}
	}
	var holders []Holding
	for _, h := range holdings {
		if slices.ContainsFunc(h.IDs, func(id string) bool { _, ok := wanted[id]; return ok }) {
			holders = append(holders, h)
		}
	}
	return holders
}

// ChooseUnheld is Choose, except that ids of holdings come last. A request that fits nowhere else gets the ids of
// containers that do not run: kubelet then most likely allocates for one of these containers again, after a reboot. The
// ids of a running container are never chosen.
func ChooseUnheld(r Request, demands []Demand, holdings []Holding) []string {
	holders := Holders(holdings, r.Available)
	if len(holders) == 0 {
		return Choose(r, demands)
	}
	unheld := r.without(holders)
	chosen := Choose(unheld, demands)
	if complete(chosen, r.Size, demands) || hasNewcomer(holdings, demands, r.Size) {
		return chosen
	}
	if own := ownIDs(r, holders); own != nil {
		return own
	}
	running := slices.DeleteFunc(slices.Clone(holders), func(h Holding) bool { return !h.Running })
	return Choose(r.without(running), demands)
}

// Blockers returns the holdings whose ids must not be allocated: those of running containers, and all of them if a pod
// without a holding awaits an allocation of this size.
func Blockers(ids []string, demands []Demand, holdings []Holding) []Holding {
	holders := Holders(holdings, ids)
	if len(holders) == 0 || hasNewcomer(holdings, demands, len(ids)) {
		return holders
	}
	return slices.DeleteFunc(holders, func(h Holding) bool { return !h.Running })
}

// without returns the request without the available ids of holdings. Ids that kubelet has already chosen stay.
func (r Request) without(holdings []Holding) Request {
	held := map[string]struct{}{}
	for _, h := range holdings {
		for _, id := range h.IDs {
			held[id] = struct{}{}
		}
	}
	r.Available = slices.DeleteFunc(slices.Clone(r.Available), func(id string) bool {
		_, isHeld := held[id]
		return isHeld && !slices.Contains(r.MustInclude, id)
	})
	return r
}

// complete reports whether Allocate accepts the chosen ids.
func complete(chosen []string, size int, demands []Demand) bool {
	parts, err := Spread(chosen)
	if err != nil || len(chosen) < size {
		return false
	}
	return len(parts) <= 1 || Even(parts) && Spans(demands, size, len(parts))
}

// hasNewcomer reports whether a pod that has no holding awaits an allocation of this size.
func hasNewcomer(holdings []Holding, demands []Demand, size int) bool {
	return slices.ContainsFunc(demands, func(d Demand) bool {
		return d.Units == size && !slices.ContainsFunc(holdings, func(h Holding) bool { return h.Pod == d.Pod })
	})
}

// ownIDs returns the available ids of the oldest container that does not run and had as many ids.
func ownIDs(r Request, holdings []Holding) []string {
	available := make(map[string]struct{}, len(r.Available))
	for _, id := range r.Available {
		available[id] = struct{}{}
	}
	fits := func(h Holding) bool {
		taken := func(id string) bool { _, ok := available[id]; return !ok }
		dropped := func(id string) bool { return !slices.Contains(h.IDs, id) }
		return !h.Running && len(h.IDs) == r.Size &&
			!slices.ContainsFunc(h.IDs, taken) && !slices.ContainsFunc(r.MustInclude, dropped)
	}
	var oldest *Holding
	for i, h := range holdings {
		if fits(h) && (oldest == nil || before(h, *oldest)) {
			oldest = &holdings[i]
		}
	}
	if oldest == nil {
		return nil
	}
	return slices.Clone(oldest.IDs)
}

// before reports whether kubelet admits the pod of a before that of b.
func before(a, b Holding) bool {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container)) < 0
}
