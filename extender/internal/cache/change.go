package cache

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Change is one thing that has happened.
type Change func(*Keeper)

// OnNodes is a batch of the bus's watch on nodes.
func OnNodes(batch bus.Batch) Change {
	return func(k *Keeper) { k.follow(&k.state.nodesBus, batch, k.state.applyNodes) }
}

// OnJobs is a batch of the bus's watch on jobs.
func OnJobs(batch bus.Batch) Change {
	return func(k *Keeper) { k.follow(&k.state.jobsBus, batch, k.state.applyJobs) }
}

// OnPod is a pod as the API server has it, or had it last if it is not present any more.
func OnPod(pod *corev1.Pod, present bool) Change {
	return func(k *Keeper) {
		seen := see(pod, k.state.resource)
		if !present {
			seen.pod = nil
		}
		onSeen(seen)(k)
	}
}

// seen is a pod as the view needs it. Of one that asks for no share, and of one that is gone, only its name is left.
type seen struct {
	uid growth.PodUID
	pod *request.Pod
}

func see(pod *corev1.Pod, resource corev1.ResourceName) seen {
	s := seen{uid: growth.PodUID(pod.UID)}
	if p, asks := request.Read(pod, resource); asks {
		s.pod = &p
	}
	return s
}

func onSeen(s seen) Change {
	return func(k *Keeper) { k.state.setPod(s.uid, s.pod) }
}

// OnNode is a node as the API server has it, or had it last if it is not present any more.
func OnNode(node *corev1.Node, present bool) Change {
	return func(k *Keeper) { k.state.setNode(node, present) }
}

// Informed says that the API server's pods and nodes have been told once.
func Informed() Change { return func(k *Keeper) { k.state.informed = true } }
