package node

import (
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// gpus are those that kubelet has allocated to a pod.
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
	allocations []seenAllocation // in the order in which they were seen
	annotated   []growth.GPU     // the GPUs in the annotation written last, nil for none
}

// seenAllocation is GPUs that kubelet had allocated to a pod when the node looked.
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

// gpus are those that the pod's containers have or had: the last allocation before the first container started.
//
// A kubelet that dies after a container has ended, and before the API server knows of it, admits the pod once more. It
// then allocates GPUs that no container of the pod will see.
func (a *assignment) gpus() []growth.GPU {
	var gpus []growth.GPU
	started := a.pod.Started
	for i, seen := range a.allocations {
		if i == 0 || started.IsZero() || !seen.at.After(started.Add(time.Second)) { // a status has whole seconds
			gpus = seen.gpus
		}
	}
	return gpus
}

// updateAssignment is called for every pod. A pod that runs only for moments may never be seen running, and its
// annotation must still name its GPUs.
func (n *Node) updateAssignment(pod Pod) {
	a := n.assignments[pod.Ref.UID]
	if a == nil {
		a = &assignment{}
		n.assignments[pod.Ref.UID] = a
	}
	a.pod = pod
	n.annotateGPUs(a)
}

// annotateGPUs corrects the annotation that names a pod's GPUs. The scheduler's Binding wrote the planned ones; kubelet
// may have exchanged those of two pods of one size.
func (n *Node) annotateGPUs(a *assignment) {
	a.add(n.gpus(a.pod.Ref.UID), n.now)
	gpus := a.gpus()
	written := a.pod.Annotations[gpushare.GPUAnnotation]
	named := gpushare.ParseGPUs(written)
	if a.annotated != nil {
		named = a.annotated // which the informer may not have seen yet
	}
	unnamed := func(gpu growth.GPU) bool { return !slices.Contains(named, gpu) }
	if !slices.ContainsFunc(gpus, unnamed) {
		return
	}
	a.annotated = gpus
	actual := gpushare.FormatGPUs(gpus)
	n.annotate(a.pod.Ref, gpushare.GPUAnnotation, actual)
	if written != "" && written != actual {
		n.podEvent(a.pod.Ref, false, "OtherGPU", fmt.Sprintf("kubelet gave it %s, where %s was planned", actual, written))
	}
}
