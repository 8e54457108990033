package gang

import (
	"cmp"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Gang is a job whose pods are placed all or none.
type Gang struct {
	// Name is unique. Created is the creation time of its first pod.
	Name    string
	Created time.Time
	// Size is the number of pods that the job has once all of them have been created.
	Size int
	// Pods are those that have not ended.
	Pods []Pod
	// State is that of the last decision; zero for a new gang.
	State State
}

// Pod is a pod of a gang.
type Pod struct {
	UID     growth.PodUID
	Request placement.Request
	// Node is where the pod is bound or where room is reserved for it; empty if neither.
	Node  growth.NodeName
	Bound bool
	// GPUs are those that are reserved for it there.
	GPUs []growth.GPUShare
	// Nodes are the nodes that the scheduler offers to the pod; empty until it has asked.
	Nodes []growth.NodeName
}

// State is what a gang remembers between two decisions.
type State struct {
	// Held is since when the gang has held room; zero if it holds none.
	Held time.Time
	// Full is since when all of its pods have had room; zero if some have none.
	Full time.Time
	// Rests is until when the gang holds no part of its room. Barred is set if it is not placed until then either.
	Rests  time.Time
	Barred bool
}

// Limits bound how long room is held.
type Limits struct {
	// Hold is how long pods hold room while others of their gang do not fit, and how long all have to be bound.
	Hold time.Duration
	// Rest is how long a gang holds nothing after that.
	Rest time.Duration
}

// DefaultLimits returns the limits in use. A reservation on the bus outlives both phases of Hold.
func DefaultLimits() Limits { return Limits{Hold: 2 * time.Minute, Rest: 2 * time.Minute} }

// Longest is how long a gang holds room at most: first for a part of its pods, then for all of them.
func (l Limits) Longest() time.Duration { return 2 * l.Hold }

// Decision is about one gang.
type Decision struct {
	Gang string
	// MayBind is set if the pods may be bound.
	MayBind bool
	// Room is where each pod that is not bound has its room. Other reservations of the gang must be released.
	Room map[growth.PodUID]growth.NodeName
	// Fit is the number of pods that fit, Missing the number of those that have not been created yet.
	Fit, Missing int
	// State is the gang's next state. Expired is set if it releases its room because its time is over.
	State   State
	Expired bool
}

// Room is where a pod of a gang may be bound.
type Room struct {
	// Node is the only node; empty for any.
	Node growth.NodeName
	// Wait is why the pod may not be bound yet; empty if it may.
	Wait string
}

// Compare orders gangs as they get room: by creation, then by name.
func Compare(a, b Gang) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}
