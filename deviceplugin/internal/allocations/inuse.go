package allocations

import (
	"context"
	"slices"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
)

// InUse are those of ids, which kubelet offers, that a container holds by kubelet's own word.
//
// Kubelet gives ids away a second time when it is asked to list what is held while it allocates, and a pod has just ended:
// it then counts anew what is allocated, without what it is just giving away (kubernetes/kubernetes#137534). What it says of
// a single pod stays right. Kubelets before 1.34 say nothing of a single pod: there nothing is found.
func (l *Tracker) InUse(ctx context.Context, ids []string) []string {
	var inUse []string
	for _, name := range l.possibleHolders(ids) {
		devices, err := l.Kubelet.Get(ctx, name.namespace, name.pod)
		if err != nil {
			continue // it has no such pod any more
		}
		for _, id := range ids {
			if holdsAny(devices, []string{id}) {
				inUse = append(inUse, id)
			}
		}
	}
	return inUse
}

// possibleHolders are the pods that held any of ids when kubelet was last asked, or may have been given them since.
func (l *Tracker) possibleHolders(ids []string) []podName {
	pods, _ := l.Pods.Pods()
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []podName
	add := func(name podName) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, h := range l.devices {
		if holdsAny([]kubelet.ContainerDevices{h}, ids) {
			add(podName{h.Namespace, h.Pod})
		}
	}
	for _, c := range l.claims {
		if !slices.ContainsFunc(c.ids, func(id string) bool { return slices.Contains(ids, id) }) {
			continue
		}
		// Whose claim it is was a guess among those that ask for as much and are not known to hold anything yet.
		for _, p := range pods {
			if !p.Finished && slices.ContainsFunc(p.Containers, func(container Container) bool {
				_, satisfied := l.satisfied[slice.Key{Pod: p.Ref.UID, Container: container.Name}]
				return container.Units == len(c.ids) && !satisfied
			}) {
				add(p.name())
			}
		}
	}
	return names
}
