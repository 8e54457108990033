package scheduler

import (
	"context"
	"fmt"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
)

// alreadyBound is the result for a pod that is bound: its GPUs if it is bound to this node, else an error that names its
// node. kube-scheduler binds a pod again if it has not received the response of the first call.
func (s *Scheduler) alreadyBound(pod request.Pod, node growth.NodeName) ([]growth.GPUShare, error) {
	if pod.Node != node {
		return nil, fmt.Errorf("pod %s: %w, to node %s", pod.Ref, ErrBoundElsewhere, pod.Node)
	}
	s.Log.Info("bound already", "pod", pod.Ref, "node", node, "gpus", pod.GPUs)
	info := s.Cache.Snapshot().Node(node)
	if info == nil {
		return nil, nil
	}
	return boundGPUs(info, pod), nil
}

// unlessBound returns err, unless the API server reports the pod as bound. The snapshot may lag, and a pod that is bound
// needs no room.
func (s *Scheduler) unlessBound(
	ctx context.Context, ref growth.PodRef, node growth.NodeName, err error,
) ([]growth.GPUShare, error) {
	current, fetchErr := s.fetch(ctx, ref)
	if fetchErr != nil || current.Node == "" {
		return nil, err
	}
	return s.alreadyBound(current, node)
}
