package loop

import (
	"fmt"
	"slices"
	"time"

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
	given   []gift       // what kubelet was seen to have given it, in turn
	amended []growth.GPU // what it was last made to say of its GPUs
}

// gift is GPUs that kubelet gave to a pod, and when that was seen.
type gift struct {
	at   time.Time
	gpus []growth.GPU
}

// note takes in what kubelet says now that it has given.
func (p *placed) note(gpus []growth.GPU) {
	if last := len(p.given) - 1; len(gpus) > 0 && (last < 0 || !slices.Equal(p.given[last].gpus, gpus)) {
		p.given = append(p.given, gift{time.Now(), gpus})
	}
}

// has is what the pod's containers have, or had. A kubelet that dies when a container has ended, and before the API server
// knows, takes the pod in once more and gives it GPUs that no container of it will see: what counts is what there was when
// its first one began.
func (p *placed) has() []growth.GPU {
	var gpus []growth.GPU
	for i, g := range p.given {
		if i == 0 || p.pod.Began.IsZero() || !g.at.After(p.pod.Began.Add(time.Second)) { // a status has whole seconds
			gpus = g.gpus
		}
	}
	return gpus
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
	p.note(l.gpus(p.pod.Ref.UID))
	given, written := p.has(), p.pod.Annotations[gpushare.GPUAnnotation]
	says := gpushare.ParseGPUs(written)
	if p.amended != nil {
		says = p.amended // which the pod as it is known here may not say yet
	}
	stray := func(gpu growth.GPU) bool { return !slices.Contains(says, gpu) }
	if !slices.ContainsFunc(given, stray) {
		return
	}
	p.amended = given
	actual := gpushare.FormatGPUs(given)
	l.ports.Diary.Annotate(p.pod.Ref, gpushare.GPUAnnotation, actual)
	if written != "" && written != actual {
		l.ports.Diary.Event(p.pod.Ref, false, "OtherGPU", fmt.Sprintf("kubelet gave it %s, where %s was planned", actual, written))
	}
}
