package storm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// Books are what several parties hold at one moment.
type Books struct {
	// Living are the pods that run or may still run, by UID, each with its name.
	Living map[growth.PodUID]string
	// Checkpoint is kubelet's file: device ids by pod. It keeps pods that have ended until it is next written.
	Checkpoint map[growth.PodUID][]string
	// Resources is kubelet's API for resources, by the pod's name.
	Resources map[string][]string
	// Ledger are our allocations on the bus.
	Ledger map[growth.PodUID][]string
	// Slots are the sets of ids that have a folder on disk, Old those of them that were handed out long ago.
	Slots, Old [][]string
}

// Drift says where the books differ. At rest they must not.
func Drift(b Books) []string {
	var found []string
	say := func(format string, values ...any) { found = append(found, fmt.Sprintf(format, values...)) }
	for _, uid := range slices.Sorted(maps.Keys(b.Living)) {
		name, kubelet := b.Living[uid], b.Checkpoint[uid]
		switch ledger, listed := b.Ledger[uid], b.Resources[name]; {
		case len(kubelet) == 0:
			say("%s lives, and kubelet's checkpoint does not have it", name)
		case !same(kubelet, listed):
			say("%s: kubelet's checkpoint has %s, its API %s", name, list(kubelet), list(listed))
		case !same(kubelet, ledger):
			say("%s: kubelet's checkpoint has %s, our ledger %s", name, list(kubelet), list(ledger))
		case !slices.ContainsFunc(b.Slots, func(ids []string) bool { return same(ids, kubelet) }):
			say("%s has no slot on disk", name)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(b.Ledger)) {
		if _, lives := b.Living[uid]; !lives {
			say("our ledger has %s for pod %s, which does not live", list(b.Ledger[uid]), uid)
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
	for _, ids := range b.Old { // one of which some ids are held is kept: it may be an init container's
		if !slices.ContainsFunc(ids, func(id string) bool { return held[id] }) {
			say("a slot of %s is left, which nobody holds", list(ids))
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
