package interference

import "github.com/trellis-gpu/trellis/growth"

// Predict predicts the slowdown of a job that shares a GPU with others. Their order has no meaning. A member needs no
// Speed; a member without Activity is taken to be always active.
func (m Model) Predict(own Member, others []Member) Prediction {
	var active growth.Share
	for _, other := range others {
		active += other.active()
	}
	return m.Slowdown(own.active(), active)
}

// active returns the activity, or 1 if it is unknown.
func (m Member) active() growth.Share {
	if m.Activity > 0 && m.Activity <= 1 {
		return m.Activity
	}
	return 1
}
