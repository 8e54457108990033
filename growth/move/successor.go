package move

import "github.com/trellis-gpu/trellis/growth"

// Successor identifies the pod that continues the job.
type Successor struct {
	Namespace string `json:"namespace"`
	// Name is the name of a bare pod's copy. Owner and Index identify the pod that a controller creates: Index is empty
	// where the controller does not number its pods.
	Name  string `json:"name,omitempty"`
	Owner string `json:"owner,omitempty"`
	Index string `json:"index,omitempty"`
}

// Identity is what identifies a pod for a move.
type Identity struct {
	UID                           growth.PodUID
	Namespace, Name, Owner, Index string
	// Carries is the ID of the move whose checkpoint the pod has in its annotations; empty if it has none.
	Carries string
}

// Job names the job of a pod for as long as a controller recreates the pod. A pod without a controller is a job of its own; the
// history of its copy has another name (History.Continues).
func (p Identity) Job() string {
	switch {
	case p.Owner == "":
		return string(p.UID)
	case p.Index == "":
		return p.Owner
	}
	return p.Owner + "." + p.Index
}

// Job names the job that moves: see Identity.Job.
func (r Record) Job() string {
	return Identity{UID: r.Old, Owner: r.Next.Owner, Index: r.Next.Index}.Job()
}

// Continues reports whether a pod is the successor of the one that moves.
func (r Record) Continues(p Identity) bool {
	if p.Namespace != r.Next.Namespace || p.UID == r.Old || r.New != "" && p.UID != r.New {
		return false
	}
	if r.Next.Name != "" {
		return p.Name == r.Next.Name
	}
	return p.Owner != "" && p.Owner == r.Next.Owner && p.Index == r.Next.Index
}

// Place is where a successor may run at present.
type Place struct {
	// Wait means nowhere: the old pod still exists. Unknown and Unready mean nowhere too: the moves are not known yet, or the pod does not
	// have what its job has saved. Else it is Only, or anywhere but on Not, if they are not empty.
	Wait, Unknown, Unready bool
	Only, Not              growth.NodeName
	// Old is the pod whose reservation on Only is for this one.
	Old growth.PodUID
}

// Place returns where the successor may run. gone reports whether the old pod is gone, which may be known before the record
// says so. In a gang it reports whether all old pods are gone: before that a new pod could run next to an old one of the same job.
func (r Record) Place(gone bool) Place {
	switch {
	case r.State == Saved && gone, r.State == Evicted && (gone || r.Gang == nil):
		p := Place{Only: r.To, Old: r.Old}
		if r.To != r.From {
			p.Not = r.From
		}
		return p
	case r.State == Saving, r.State == Saved, r.State == Evicted:
		return Place{Wait: true} // if the old pod is gone, a state after Saving is about to be read
	}
	return Place{}
}
