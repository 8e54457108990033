package move

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// State is a state of a move.
type State string

// All states, in their order. Aborted can follow each but Done.
const (
	Proposed State = "Proposed"
	Saving   State = "Saving"
	Saved    State = "Saved"
	Evicted  State = "Evicted"
	Placed   State = "Placed"
	Restored State = "Restored"
	Done     State = "Done"
	Aborted  State = "Aborted"
)

// Final reports whether nothing follows.
func (s State) Final() bool { return s == Done || s == Aborted }

// Checkpoint is what a job has saved.
type Checkpoint struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Step   int64  `json:"step"`
}

// Record is a move on the bus.
type Record struct {
	// ID identifies the move. It is the name of the permission on the old pod, and of the request to save.
	ID string `json:"id"`
	// Old is the UID of the pod that moves, and Next identifies its successor.
	Old  growth.PodUID `json:"old"`
	Next Successor     `json:"next"`
	// Gang is nil for a pod that moves alone. Otherwise the records of all pods of the gang have the same ID.
	Gang *Gang `json:"gang,omitempty"`
	// Bare is set if nothing creates the pod again.
	Bare bool `json:"bare,omitempty"`
	// Detach is set if the owner of the old pod takes its eviction for a failure, as a Job does: it counts it, and delays the
	// successor. So the pod leaves its owner first, which creates the successor at once.
	Detach bool `json:"detach,omitempty"`

	// To is empty if any node but From is as good. It is From for a pod of a gang that starts again on its node.
	From growth.NodeName `json:"from"`
	To   growth.NodeName `json:"to,omitempty"`

	State State `json:"state"`
	// Since is when the state was entered, and Began when the move was proposed.
	Since time.Time `json:"since"`
	Began time.Time `json:"began"`
	Times Times     `json:"times,omitzero"`
	// Gone is set once the old pod is gone by the eviction. Ended is set if its job has ended by itself before.
	Gone  bool `json:"gone,omitempty"`
	Ended bool `json:"ended,omitempty"`

	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	// New is the successor and On its node, once it is bound.
	New growth.PodUID   `json:"new,omitempty"`
	On  growth.NodeName `json:"on,omitempty"`
	// NoImage is set if that node did not have all images of the successor.
	NoImage bool `json:"noImage,omitempty"`
	// Behind is the first step that the successor has reported, if it is before the saved one: it has not continued from the checkpoint.
	Behind int64 `json:"behind,omitempty"`
	// Why is the reason of an abort. In state Saved it means that the permission to evict is being withdrawn.
	Why string `json:"why,omitempty"`

	// Cause says what the move is for, and Because explains it to the user, with figures.
	Cause   Cause  `json:"cause,omitempty"`
	Because string `json:"because,omitempty"`
	// For is the pending pod that the move makes room for.
	For growth.PodUID `json:"for,omitempty"`
	// Delay is the longest time by which the move delays the end of another job of its target, as predicted.
	Delay growth.Seconds `json:"delaySeconds,omitempty"`
	// Deadline is when the user needs the result of the job, which its successor keeps; zero if there is no deadline.
	Deadline time.Time `json:"deadline,omitzero"`
}

// Cause is what a move is for.
type Cause string

const (
	// Requested moves are requests of users. Records of earlier releases name no cause.
	Requested Cause = ""
	// Faster moves end jobs earlier.
	Faster Cause = "faster"
	// Room moves make room for a pending pod.
	Room Cause = "room"
)

// Limits bound the time in some states.
type Limits struct {
	Save, Evict, Place, Restore time.Duration
	// Fail bounds the time in which the containers of the successor fail.
	Fail time.Duration
}

// DefaultLimits are those of the extender.
func DefaultLimits() Limits {
	return Limits{Save: 2 * time.Minute, Evict: 5 * time.Minute, Place: 2 * time.Minute, Restore: 10 * time.Minute, Fail: time.Minute}
}

// Wants is what has to hold in a state, beyond the record itself.
type Wants struct {
	// Hold: the old pod saves for this move, and is held at that step. Else it runs on.
	Hold bool
	// Target: memory is reserved on the target, and the extender places the successor there.
	Target bool
	// Grant: the old pod carries the permission of this move, unless that was withdrawn. Withdraw: it is withdrawn, unless the
	// pod is being deleted already.
	Grant, Withdraw bool
	// Detach: the old pod has left its owner, if it carries the permission. Attach: it belongs to its owner.
	Detach, Attach bool
	// Evict: the old pod is evicted, if it runs, carries the permission, has a copy if it needs one, and has left its owner if it
	// must. In a gang that must be so of all pods before one is evicted: the processes of the others may fail then. A pod that has
	// failed is evicted too, so that it is removed.
	Evict bool
	// Copy: the copy of a bare pod exists. Open: it has no gate. Drop: it does not exist, unless it has lost its gate.
	Copy, Open, Drop bool
}

// Wants returns what has to hold.
func (r Record) Wants() Wants {
	switch r.State {
	case Saving:
		return Wants{Hold: true, Target: true}
	case Saved:
		if r.Why != "" {
			return Wants{Hold: true, Withdraw: true, Attach: r.Detach, Copy: r.Bare}
		}
		return Wants{Hold: true, Target: true, Grant: true, Detach: r.Detach, Evict: true, Copy: r.Bare}
	case Evicted:
		return Wants{Target: true, Copy: r.Bare, Open: r.Bare}
	}
	successor := r.Bare && r.Gone // it is the job now
	return Wants{Copy: successor, Open: successor, Drop: r.State == Aborted && r.Bare && !r.Gone}
}
