package scheduler

import (
	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/fastpath"
	"github.com/trellis-gpu/trellis/extender/internal/request"
)

// evaluator returns verdicts on nodes for one pod. kube-scheduler sends two requests per pod, one for all nodes and one
// for those that fit, and soon the next pod of the same kind. Verdicts are therefore cached per version of a node.
type evaluator struct {
	pod      request.Pod
	question fastpath.Question
	// cached is nil for a pod that holds GPU memory on some node, or for which memory is held: there it differs from other pods
	// of its kind.
	cached *fastpath.Verdicts
}

func (s *Scheduler) evaluator(snapshot *cache.Snapshot, pod request.Pod) *evaluator {
	policy, byKind := s.policy(snapshot)
	shape := pod.Request.Shape()
	if model := snapshot.Model(); !byKind || model == nil || !model.Knows(shape.Kind) {
		shape.Kind = "" // pods of all such kinds share their verdicts
	}
	e := &evaluator{pod: pod, question: fastpath.Question{Policy: policy, Shape: shape}}
	_, holds := snapshot.Holders.Get(pod.Ref.UID)
	if !holds && pod.Invalid == nil && pod.Continues == "" {
		e.cached = s.verdicts.For(e.question, snapshot.Nodes.Slots())
	}
	return e
}

// verdict returns the verdict on a node.
func (e *evaluator) verdict(node fastpath.Entry[cache.NodeInfo]) fastpath.Verdict {
	if node.Value == nil || e.cached == nil {
		return e.compute(node.Value)
	}
	verdict, ok := e.cached.Get(node.Slot)
	if !ok {
		verdict = e.compute(node.Value)
		e.cached.Put(node.Slot, verdict)
	}
	return verdict
}

func (e *evaluator) compute(node *cache.NodeInfo) fastpath.Verdict {
	score, status := score(node, e.pod, e.question.Policy)
	if !status.Fits() {
		return fastpath.Verdict{Status: &status}
	}
	return fastpath.Verdict{Score: score}
}
