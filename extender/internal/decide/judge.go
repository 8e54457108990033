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
	// known says that the pod holds nothing anywhere, so that a node is to it what it is to its like.
	known bool
}

func (d *Decider) judge(snapshot *view.Snapshot, pod request.Pod) *judge {
	_, claims := snapshot.Claims.Get(pod.Ref.UID)
	return &judge{pod: pod, question: view.Question{Policy: d.policy(snapshot), Shape: pod.Request.Shape()}, known: !claims && pod.Nonsense == nil}
}

// of is what the node is to the pod.
func (j *judge) of(here *view.Node) view.Verdict {
	if here == nil || !j.known {
		return j.afresh(here)
	}
	if verdict, ok := here.Recall(j.question); ok {
		return verdict
	}
	verdict := j.afresh(here)
	here.Remember(j.question, verdict)
	return verdict
}

func (j *judge) afresh(here *view.Node) view.Verdict {
	n, misfit := site(here, j.pod)
	if !misfit.Fits() {
		return view.Verdict{Misfit: misfit}
	}
	choice, misfit := placement.Place(n, j.pod.Request, j.question.Policy)
	return view.Verdict{Misfit: misfit, Score: choice.Score}
}
