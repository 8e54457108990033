package decide

import (
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/view"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// judge judges nodes for one pod. Kube-scheduler asks twice about each pod, about all nodes and then about those that fit,
// and soon after about another pod of the same kind: what was found out about a node is remembered with its picture.
type judge struct {
	pod      request.Pod
	question view.Question
	// sheet remembers; nil for a pod that holds something somewhere, to which a node is not what it is to the pod's like.
	sheet *view.Sheet
}

func (d *Decider) judge(snapshot *view.Snapshot, pod request.Pod) *judge {
	_, claims := snapshot.Claims.Get(pod.Ref.UID)
	j := &judge{pod: pod, question: view.Question{Policy: d.policy(snapshot), Shape: pod.Request.Shape()}}
	if !claims && pod.Nonsense == nil {
		j.sheet = d.Verdicts.On(j.question, snapshot.Nodes.Places())
	}
	return j
}

// of is what the node is to the pod.
func (j *judge) of(here view.Seat) view.Verdict {
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

func (j *judge) afresh(here *view.Node) view.Verdict {
	n, misfit := site(here, j.pod)
	if !misfit.Fits() {
		return view.Verdict{Misfit: new(misfit)}
	}
	score, misfit := placement.ScoreNode(n, j.pod.Request, j.question.Policy)
	if !misfit.Fits() {
		return view.Verdict{Misfit: new(misfit)}
	}
	return view.Verdict{Score: score}
}
