package scheduler

import (
	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// judge judges nodes for one pod. Kube-scheduler asks twice about each pod, about all nodes and then about those that fit,
// and soon after about another pod of the same kind: what was found out about a node is remembered with its picture.
type judge struct {
	pod      request.Pod
	question cache.Question
	// sheet remembers; nil for a pod that holds something somewhere, to which a node is not what it is to the pod's like.
	sheet *cache.Sheet
}

func (d *Decider) judge(snapshot *cache.Snapshot, pod request.Pod) *judge {
	_, claims := snapshot.Claims.Get(pod.Ref.UID)
	j := &judge{pod: pod, question: cache.Question{Policy: d.policy(snapshot), Shape: pod.Request.Shape()}}
	if !claims && pod.Nonsense == nil {
		j.sheet = d.Verdicts.On(j.question, snapshot.Nodes.Places())
	}
	return j
}

// of is what the node is to the pod.
func (j *judge) of(here cache.Seat) cache.Verdict {
	if here.Node == nil || j.sheet == nil {
		return j.afresh(here.Node)
	}
	verdict, known := j.sheet.Recall(here)
	if !known {
		verdict = j.afresh(here.Node)
		j.sheet.Remember(here, verdict)
	}
	return verdict
}

func (j *judge) afresh(here *cache.Node) cache.Verdict {
	n, misfit := site(here, j.pod)
	if !misfit.Fits() {
		return cache.Verdict{Misfit: new(misfit)}
	}
	score, misfit := placement.ScoreNode(n, j.pod.Request, j.question.Policy)
	if !misfit.Fits() {
		return cache.Verdict{Misfit: new(misfit)}
	}
	return cache.Verdict{Score: score}
}
