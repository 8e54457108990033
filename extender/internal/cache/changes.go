package cache

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/daemon/jobkind"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Change is a change of one source.
type Change func(*Cache)

// OnNodes is a batch of the bus's watch on nodes.
func OnNodes(batch bus.Batch) Change {
	return func(c *Cache) { c.apply(&c.state.nodesWatch, batch, c.state.applyNodes) }
}

// OnJobs is a batch of the bus's watch on jobs.
func OnJobs(batch bus.Batch) Change {
	return func(c *Cache) { c.apply(&c.state.jobsWatch, batch, c.state.applyJobs) }
}

// OnPod is the API server's current version of a pod, or its last version if the pod was deleted (present is false).
func OnPod(pod *corev1.Pod, present bool) Change {
	return func(c *Cache) {
		update := newPodUpdate(pod, c.state.resource)
		if !present {
			update.pod = nil
		}
		onPodUpdate(update)(c)
	}
}

// podUpdate is the part of a pod that the cache keeps. pod is nil for a pod that requests no share, or that was deleted.
type podUpdate struct {
	uid growth.PodUID
	pod *request.Pod
}

func newPodUpdate(pod *corev1.Pod, resource corev1.ResourceName) podUpdate {
	update := podUpdate{uid: growth.PodUID(pod.UID)}
	if p, requests := request.Read(pod, resource); requests {
		p.Request.Kind = jobkind.Of(pod)
		update.pod = &p
	}
	return update
}

func onPodUpdate(u podUpdate) Change {
	return func(c *Cache) { c.state.setPod(u.uid, u.pod) }
}

// OnNode is the API server's current version of a node, or its last version if the node was deleted (present is false).
func OnNode(node *corev1.Node, present bool) Change {
	return func(c *Cache) { c.state.setNode(node, present) }
}

// OnModel is the learned model, nil if there is none.
func OnModel(learned *Learned) Change { return func(c *Cache) { c.state.learned = learned } }

// Informed says that the API server has delivered all pods and nodes once.
func Informed() Change { return func(c *Cache) { c.state.informed = true } }
