package scheduler

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth/placement"
)

var (
	errUnsynced = errors.New("the extender has not seen the whole cluster yet; try again")
	// ErrNoRoom means that the node lost its room between filter and bind.
	ErrNoRoom = errors.New("no room any more")
	// ErrOvertaken means that others changed the node faster than a decision could be taken.
	ErrOvertaken = errors.New("others placed pods on this node at the same time; try again")
	// ErrAway means that the state bus can not be reached, so that nothing can be reserved there.
	ErrAway = errors.New("the state bus is away, nothing can be reserved; try again")
	// errKept means that the pod may be bound to this node all the same, so that its reservation stays: it is the newest
	// plan for the pod, and ends by itself if it is bound elsewhere.
	errKept = errors.New("the reservation stays")
	// ErrGone means that the pod is not the one that was scheduled, or is not there any more.
	ErrGone = errors.New("the pod is gone")
	// ErrElsewhere means that the pod is bound to another node.
	ErrElsewhere = errors.New("the pod is bound already")
	// ErrRefused means that the API server did not take the Binding.
	ErrRefused = errors.New("the API server refused the Binding")
)

// Outcome is a word for the result of a Bind, for metrics.
func Outcome(err error) string {
	for _, known := range []struct {
		err  error
		word string
	}{
		{nil, "bound"}, {ErrNoRoom, "no_room"}, {ErrOvertaken, "overtaken"}, {ErrAway, "bus_away"}, {reservations.ErrFull, "bus_away"}, {placement.ErrOverCommitted, "unbalanced"},
		{ErrGone, "gone"}, {ErrElsewhere, "elsewhere"}, {ErrRefused, "refused"},
	} {
		if errors.Is(err, known.err) {
			return known.word
		}
	}
	return "error"
}

// Outcomes are all the words that Outcome has.
func Outcomes() []string {
	return []string{"bound", "no_room", "overtaken", "bus_away", "unbalanced", "gone", "elsewhere", "refused", "error"}
}

// refused tells whether the API server has answered, and said no: the Binding has certainly not happened. Timeouts and
// errors of the server leave that open.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && !apierrors.IsTimeout(err)
}
