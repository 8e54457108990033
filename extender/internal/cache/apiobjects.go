package cache

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// setPod replaces a pod. nil stands for a pod that was deleted or does not request a share any more.
func (s *state) setPod(uid growth.PodUID, p *request.Pod) {
	old, known := s.pods[uid]
	if known && p != nil && earlier(p.ResourceVersion, old.ResourceVersion) {
		return
	}
	if known {
		s.removePod(uid, old, p == nil || p.Ended)
	}
	if p == nil {
		return
	}
	s.changedPods[uid] = struct{}{}
	s.pods[uid] = p
	if p.Node != "" && !p.Ended && len(p.GPUs) > 0 {
		node := s.change(p.Node)
		node.unshare()
		node.bound[uid] = placement.BoundPod{GPUs: p.GPUs, Request: p.Request}
	}
}

func (s *state) removePod(uid growth.PodUID, old *request.Pod, ended bool) {
	s.changedPods[uid] = struct{}{}
	delete(s.pods, uid)
	if old.Node == "" {
		return
	}
	node := s.change(old.Node)
	node.unshare()
	delete(node.bound, uid)
	if ended {
		node.addEnded(uid)
	}
}

// earlier reports whether one resource version of an object precedes another. Resource versions are growing numbers; any
// other text does not precede anything.
func earlier(a, b string) bool {
	x, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseUint(b, 10, 64)
	return err == nil && x < y
}

func (s *state) setNode(node *corev1.Node, present bool) {
	name := growth.NodeName(node.Name)
	unlabelled := present && node.Labels[gpushare.NodeLabel] != "true"
	old, ok := s.nodes[name]
	if ok && old.registered == present && old.unlabelled == unlabelled {
		return // most updates are heartbeats
	}
	changed := s.change(name)
	changed.registered, changed.unlabelled = present, unlabelled
}
