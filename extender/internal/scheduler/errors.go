package scheduler

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth/placement"
)

var (
	errUnsynced = errors.New("the extender has not seen the whole cluster yet; try again")
	// errMovesUnknown is an answer for a pod that may continue the job of one that has not ended.
	errMovesUnknown = errors.New("the extender has not read the moves of jobs yet; try again")
	// ErrNoRoom means that the node has lost its room since Filter.
	ErrNoRoom = errors.New("no room any more")
	// ErrOvertaken means that other replicas changed the node faster than this one could decide.
	ErrOvertaken = errors.New("others placed pods on this node at the same time; try again")
	// ErrBusUnavailable means that nothing can be reserved on the bus.
	ErrBusUnavailable = errors.New("the state bus is unavailable, nothing can be reserved; try again")
	// errBoundHere means that the pod may be bound to this node, but the API server does not answer. Its reservation stays:
	// it is the latest plan for the pod, and expires if the pod is bound elsewhere.
	errBoundHere = errors.New("the reservation stays")
	// ErrPodGone means that the pod was deleted, or is not the one that was scheduled.
	ErrPodGone = errors.New("the pod is gone")
	// ErrBoundElsewhere means that the pod is bound to another node.
	ErrBoundElsewhere = errors.New("the pod is bound already")
	// ErrGangWaits means that the room of the pod's gang was released after Filter.
	ErrGangWaits = errors.New("the pods of the job are placed together")
	// ErrBindingRefused means that the API server refused the Binding.
	ErrBindingRefused = errors.New("the API server refused the Binding")
)

// Outcome returns the word for the result of a Bind, for metrics.
func Outcome(err error) string {
	for _, known := range []struct {
		err  error
		word string
	}{
		{nil, "bound"},
		{ErrNoRoom, "no_room"},
		{ErrOvertaken, "overtaken"},
		{ErrBusUnavailable, "bus_away"},
		{reservations.ErrFull, "bus_away"},
		{placement.ErrOverCommitted, "unbalanced"},
		{ErrPodGone, "gone"},
		{ErrBoundElsewhere, "elsewhere"},
		{ErrGangWaits, "gang_waits"},
		{ErrBindingRefused, "refused"},
	} {
		if errors.Is(err, known.err) {
			return known.word
		}
	}
	return "error"
}

// Outcomes returns all words of Outcome.
func Outcomes() []string {
	return []string{"bound", "no_room", "overtaken", "bus_away", "unbalanced", "gone", "elsewhere", "gang_waits", "refused", "error"}
}

// refused reports whether the API server has answered with a refusal: the pod is then certainly not bound. After a timeout
// or an error of the server that is unknown.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && !apierrors.IsTimeout(err)
}
