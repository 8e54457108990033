package storm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// Records are what all sources report at one moment.
type Records struct {
	// Living are the names of the pods that have not ended, by UID.
	Living map[growth.PodUID]string
	// Checkpoint has kubelet's device IDs by pod. It keeps an ended pod until kubelet writes the file again.
	Checkpoint map[growth.PodUID][]string
	// Resources has the device IDs from kubelet's PodResources API, by the pod's name.
	Resources map[string][]string
	// Allocations are the device plugin's records on the bus.
	Allocations map[growth.PodUID][]string
	// Slots are the sets of device IDs that have a slot folder on disk. Old are those whose slot is older than slotGrace.
	Slots, Old [][]string
}

// Drift lists the differences between the records. There must be none once no pod changes any more.
func Drift(b Records) []string {
	var found []string
	say := func(format string, values ...any) { found = append(found, fmt.Sprintf(format, values...)) }
	for _, uid := range slices.Sorted(maps.Keys(b.Living)) {
		name, kubelet := b.Living[uid], b.Checkpoint[uid]
		switch allocated, listed := b.Allocations[uid], b.Resources[name]; {
		case len(kubelet) == 0:
			say("%s lives, and kubelet's checkpoint does not have it", name)
		case !same(kubelet, listed):
			say("%s: kubelet's checkpoint has %s, its API %s", name, list(kubelet), list(listed))
		case !same(kubelet, allocated):
			say("%s: kubelet's checkpoint has %s, the bus %s", name, list(kubelet), list(allocated))
		case !slices.ContainsFunc(b.Slots, func(ids []string) bool { return same(ids, kubelet) }):
			say("%s has no slot on disk", name)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(b.Allocations)) {
		if _, lives := b.Living[uid]; !lives {
			say("the bus has %s for pod %s, which does not live", list(b.Allocations[uid]), uid)
		}
	}
	names := slices.Collect(maps.Values(b.Living))
	for _, name := range slices.Sorted(maps.Keys(b.Resources)) {
		if !slices.Contains(names, name) {
			say("kubelet's API lists %s for %s, which does not live", list(b.Resources[name]), name)
		}
	}
	held := map[string]bool{}
	for uid := range b.Living {
		for _, id := range b.Checkpoint[uid] {
			held[id] = true
		}
	}
	for _, ids := range b.Old { // a slot with a held ID is kept: it may belong to an init container
		if !slices.ContainsFunc(ids, func(id string) bool { return held[id] }) {
			say("a slot of %s is left, which no pod holds", list(ids))
		}
	}
	return found
}

func same(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func list(ids []string) string {
	if len(ids) == 0 {
		return "nothing"
	}
	return strings.Join(slices.Sorted(slices.Values(ids)), " ")
}
