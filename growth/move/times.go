package move

import "time"

// Times are the times at which states were entered; zero for those that were not.
type Times struct {
	Saved   time.Time `json:"saved,omitzero"`
	Evicted time.Time `json:"evicted,omitzero"`
	Placed  time.Time `json:"placed,omitzero"`
	// Started is when the containers of the successor were first seen to run. It is not a state.
	Started  time.Time `json:"started,omitzero"`
	Restored time.Time `json:"restored,omitzero"`
}

func (t *Times) note(s State, now time.Time) {
	switch s {
	case Saved:
		t.Saved = now
	case Evicted:
		t.Evicted = now
	case Placed:
		t.Placed = now
	case Restored:
		t.Restored = now
	}
}

// Cost is the time that each part of a move has taken.
type Cost struct {
	// Save is the time until the checkpoint was complete, Evict until the old pod was gone, Place until the successor had a node,
	// Start until its containers ran, and Restore until it had reported a step. Start is part of Restore in records of earlier releases.
	Save, Evict, Place, Start, Restore time.Duration
}

// Cost returns the cost of a move that is done, as far as its record has the times.
func (r Record) Cost() Cost {
	t := r.Times
	if t.Saved.IsZero() || t.Restored.IsZero() {
		return Cost{}
	}
	if t.Started.IsZero() {
		t.Started = t.Placed
	}
	return Cost{
		Save:    t.Saved.Sub(r.Began),
		Evict:   t.Evicted.Sub(t.Saved),
		Place:   t.Placed.Sub(t.Evicted),
		Start:   t.Started.Sub(t.Placed),
		Restore: t.Restored.Sub(t.Started),
	}
}
