package node

import (
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// gpus returns the GPUs that kubelet has allocated to a pod.
func (n *Node) gpus(uid growth.PodUID) []growth.GPU {
	var gpus []growth.GPU
	for _, a := range n.allocations {
		if a.Pod.UID == uid {
			for _, share := range a.GPUs() {
				gpus = append(gpus, share.GPU)
			}
		}
	}
	return gpus
}

// assignment records the GPUs of a pod, whether it runs or not.
type assignment struct {
	pod         Pod
	allocations []seenAllocation // oldest first
	annotated   []growth.GPU     // the GPUs in the last annotation that the node wrote; nil if none
}

// seenAllocation has the GPUs that kubelet had allocated to a pod, and when the node first saw them.
type seenAllocation struct {
	at   time.Time
	gpus []growth.GPU
}

func (a *assignment) add(gpus []growth.GPU, now time.Time) {
	last := len(a.allocations) - 1
	if len(gpus) > 0 && (last < 0 || !slices.Equal(a.allocations[last].gpus, gpus)) {
		a.allocations = append(a.allocations, seenAllocation{at: now, gpus: gpus})
	}
}

// gpus returns the GPUs that the pod's containers have or had: the last allocation before the first container started.
//
// Later allocations do not count. If kubelet crashes after a container has ended, and before it has reported the end,
// it admits the pod again and allocates GPUs that no container will use.
func (a *assignment) gpus() []growth.GPU {
	var gpus []growth.GPU
	started := a.pod.Started
	for i, seen := range a.allocations {
		if i == 0 || started.IsZero() || !seen.at.After(started.Add(time.Second)) { // times in a pod's status are in whole seconds
			gpus = seen.gpus
		}
	}
	return gpus
}

// updateAssignment is called for every pod, running or not: the node may never see a short pod running, but its
// annotation must name its GPUs.
func (n *Node) updateAssignment(pod Pod) {
	a := n.assignments[pod.Ref.UID]
	if a == nil {
		a = &assignment{}
		n.assignments[pod.Ref.UID] = a
	}
	a.pod = pod
	n.annotateGPUs(a)
}

// annotateGPUs corrects the annotation that names a pod's GPUs. The Binding wrote the planned GPUs, but kubelet may
// have swapped the GPUs of two pods of equal size.
func (n *Node) annotateGPUs(a *assignment) {
	a.add(n.gpus(a.pod.Ref.UID), n.now)
	gpus := a.gpus()
	written := a.pod.Annotations[gpushare.GPUAnnotation]
	named := gpushare.ParseGPUs(written)
	if a.annotated != nil {
		named = a.annotated // the informer may not have the new annotation yet
	}
	unnamed := func(gpu growth.GPU) bool { return !slices.Contains(named, gpu) }
	if !slices.ContainsFunc(gpus, unnamed) {
		return
	}
	a.annotated = gpus
	actual := gpushare.FormatGPUs(gpus)
	n.annotate(a.pod.Ref, gpushare.GPUAnnotation, actual)
	if written != "" && written != actual {
		n.podEvent(a.pod.Ref, false, "OtherGPU", fmt.Sprintf("kubelet allocated %s instead of the planned %s", actual, written))
	}
}
