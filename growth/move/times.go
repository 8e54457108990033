package move

import "time"

// Times are the times at which states were entered; zero for those that were not.
type Times struct {
	Saved    time.Time `json:"saved,omitzero"`
	Evicted  time.Time `json:"evicted,omitzero"`
	Placed   time.Time `json:"placed,omitzero"`
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
	// and Restore until it had reported a step.
	Save, Evict, Place, Restore time.Duration
}

// Cost returns the cost of a move that is done.
func (r Record) Cost() Cost {
	t := r.Times
	return Cost{
		Save:    t.Saved.Sub(r.Began),
		Evict:   t.Evicted.Sub(t.Saved),
		Place:   t.Placed.Sub(t.Evicted),
		Restore: t.Restored.Sub(t.Placed),
	}
}
