package loop

import (
	"fmt"
	"slices"

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

// amend makes a pod say which GPUs it really has. The Binding said which ones were planned; kubelet may have swapped
// pods of one size, and has the last word.
func (l *Loop) amend(j *job) {
	given, written := l.gpus(j.pod.Ref.UID), j.pod.Annotations[gpushare.GPUAnnotation]
	planned := gpushare.ParseGPUs(written)
	stray := func(gpu growth.GPU) bool { return !slices.Contains(planned, gpu) }
	if !slices.ContainsFunc(given, stray) || slices.Equal(given, j.amended) {
		return
	}
	j.amended = given
	actual := gpushare.FormatGPUs(given)
	l.ports.Diary.Annotate(j.pod.Ref, gpushare.GPUAnnotation, actual)
	if written != "" {
		l.tell(j, always, false, "OtherGPU", fmt.Sprintf("kubelet gave it %s, where %s was planned", actual, written))
	}
}
