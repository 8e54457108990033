package allocations

import (
	"context"
	"slices"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
)

// InUse returns the ids that kubelet offers although a container holds them.
//
// Kubelet can offer ids twice (kubernetes/kubernetes#137534). After a pod has ended, a List request makes kubelet
// recount its allocated devices, and the recount misses the allocation in progress. Get requests for a single pod are
// not affected. Kubelets before 1.34 do not serve Get; InUse then finds nothing.
func (t *Tracker) InUse(ctx context.Context, ids []string) []string {
	var inUse []string
	for _, name := range t.possibleHolders(ids) {
		devices, err := t.Kubelet.Get(ctx, name.namespace, name.pod)
		if err != nil {
			continue // the pod no longer exists
		}
		for _, id := range ids {
			if holdsAny(devices, []string{id}) {
				inUse = append(inUse, id)
			}
		}
	}
	return inUse
}

// possibleHolders returns the pods that held any of the ids at the last List, or that may have received them since.
func (t *Tracker) possibleHolders(ids []string) []podName {
	podList, _ := t.Pods.Pods()
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []podName
	add := func(name podName) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, d := range t.devices {
		if holdsAny([]kubelet.ContainerDevices{d}, ids) {
			add(podName{d.Namespace, d.Pod})
		}
	}
	for _, c := range t.claims {
		if !slices.ContainsFunc(c.ids, func(id string) bool { return slices.Contains(ids, id) }) {
			continue
		}
		// The pod of a claim is a guess. Any pod with a request of the same size that holds nothing yet may be the
		// holder.
		for _, p := range podList {
			if !p.Finished && slices.ContainsFunc(p.Containers, func(container pods.Container) bool {
				_, satisfied := t.satisfied[slice.Key{Pod: p.Ref.UID, Container: container.Name}]
				return container.Units == len(c.ids) && !satisfied
			}) {
				add(nameOf(p))
			}
		}
	}
	return names
}
