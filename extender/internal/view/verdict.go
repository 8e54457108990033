package view

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth/placement"
)

// remembered is how many questions a node remembers its verdict on. Clusters ask for a handful of sizes.
const remembered = 16

// Question is all that a verdict on one picture of a node depends on. Policies are comparable values.
type Question struct {
	Policy placement.Policy
	Shape  placement.Shape
}

// Verdict is what a node is to pods that hold nothing on it.
type Verdict struct {
	placement.Misfit
	// Score is that of the best place, nothing where there is none.
	Score placement.Score
}

type answered struct {
	question Question
	verdict  Verdict
}

// Recall returns the verdict that was remembered. A node's picture never changes and its verdicts neither: as long as a
// picture is part of snapshots, so are they, and between two pods one node of thousands is judged anew.
func (n *Node) Recall(q Question) (Verdict, bool) {
	if known := n.verdicts.Load(); known != nil {
		for i := range *known {
			if (*known)[i].question == q {
				return (*known)[i].verdict, true
			}
		}
	}
	return Verdict{}, false
}

// Remember keeps a verdict, in the place of the oldest if there are many. One that a concurrent Remember overwrites is
// reached again.
func (n *Node) Remember(q Question, v Verdict) {
	var next []answered
	if known := n.verdicts.Load(); known != nil {
		next = slices.Grow(slices.Clone((*known)[max(0, len(*known)-remembered+1):]), 1)
	}
	next = append(next, answered{q, v})
	n.verdicts.Store(&next)
}
