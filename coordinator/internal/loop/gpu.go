package loop

import (
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// gpus are those kubelet gave to a pod.
func (l *Loop) gpus(uid growth.PodUID) []growth.GPU {
	var gpus []growth.GPU
	for _, a := range l.allocations.Values {
		if a.Pod.UID == uid {
			for _, share := range bus.Allocation.GPUs(a) {
				gpus = append(gpus, share.GPU)
			}
		}
	}
	return gpus
}

// placed is a pod of this node, whether it runs or not.
type placed struct {
	pod     pods.Pod
	amended []growth.GPU // what it was last made to say of its GPUs
}

// see keeps up with a pod. One that runs for moments only may never be seen running, and is to say which GPUs it has all
// the same.
func (l *Loop) see(pod pods.Pod) {
	known := l.placed[pod.Ref.UID]
	if known == nil {
		known = &placed{}
		l.placed[pod.Ref.UID] = known
	}
	known.pod = pod
	l.amend(known)
}

// amend makes a pod say which GPUs it really has. The Binding said which ones were planned; kubelet may have swapped
// pods of one size, and has the last word.
func (l *Loop) amend(p *placed) {
	given, written := l.gpus(p.pod.Ref.UID), p.pod.Annotations[gpushare.GPUAnnotation]
	planned := gpushare.ParseGPUs(written)
	stray := func(gpu growth.GPU) bool { return !slices.Contains(planned, gpu) }
	if !slices.ContainsFunc(given, stray) || slices.Equal(given, p.amended) {
		return
	}
	p.amended = given
	actual := gpushare.FormatGPUs(given)
	l.ports.Diary.Annotate(p.pod.Ref, gpushare.GPUAnnotation, actual)
	if written != "" {
		l.ports.Diary.Event(p.pod.Ref, false, "OtherGPU", fmt.Sprintf("kubelet gave it %s, where %s was planned", actual, written))
	}
}
