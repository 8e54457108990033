package elastic

import (
	"fmt"
	"time"
)

// State is the state of a change of the number of workers.
type State string

// The states of a change. The zero value is a job whose number was never changed.
const (
	// Saving lasts until the job has saved, Scaling until its owner has the new number.
	Saving  State = "saving"
	Scaling State = "scaling"
	// Changed and Abandoned are final.
	Changed   State = "changed"
	Abandoned State = "abandoned"
)

// Change is the last change of a job's number of workers.
type Change struct {
	// ID is that of the request to save.
	ID    string `json:"id"`
	From  int    `json:"from"`
	To    int    `json:"to"`
	State State  `json:"state"`
	// Why is the recommendation, or why the change was abandoned.
	Why string `json:"why,omitempty"`
	// Since is the time of the last change of State.
	Since time.Time `json:"since"`
	// Made counts the changes of the job that were made.
	Made int `json:"made"`
}

// Going reports whether the change is not at its end.
func (c Change) Going() bool { return c.State == Saving || c.State == Scaling }

// Seen is what was observed of a job.
type Seen struct {
	// Workers is the number in the job's owner.
	Workers int
	Range   Range
	// Advised is the recommended number, 0 for none, AdvisedFrom the number of workers that it was recommended for, and Why its reason.
	Advised     int
	AdvisedFrom int
	Why         string
	// Blocked is why the number must not change now; empty if it may.
	Blocked string
	// Saved is set once the job has saved for the present change, and Failed to why it could not.
	Saved  bool
	Failed string
}

// Limits bound the changes of a job.
type Limits struct {
	// Changes is the most changes of a job, Dwell the least time between two of them, made or abandoned.
	Changes int
	Dwell   time.Duration
	// Save and Scale bound the time in these states.
	Save, Scale time.Duration
}

// DefaultLimits returns the limits of a cluster.
func DefaultLimits() Limits {
	return Limits{Changes: MaxChanges, Dwell: 10 * time.Minute, Save: 12 * time.Minute, Scale: 2 * time.Minute}
}

// Next returns the change that follows from what was observed; false if there is nothing to do. A new change gets the ID id.
func (l Limits) Next(c Change, s Seen, id string, now time.Time) (Change, bool) {
	switch c.State {
	case Saving:
		return l.whileSaving(c, s, now)
	case Scaling:
		return l.whileScaling(c, s, now)
	}
	if s.Blocked != "" || !l.Due(c, s, now) {
		return c, false
	}
	return Change{ID: id, From: s.Workers, To: s.Advised, State: Saving, Why: s.Why, Since: now, Made: c.Made}, true
}

// Due reports whether a change begins, unless something blocks it.
func (l Limits) Due(c Change, s Seen, now time.Time) bool {
	return !c.Going() && s.advises() && c.Made < l.Changes && (c.Since.IsZero() || now.Sub(c.Since) >= l.Dwell)
}

// advises reports whether another number within the range is recommended for the present one. A recommendation for another number is
// older than a change by the user, or of a node that does not know all workers.
func (s Seen) advises() bool {
	return s.Workers > 0 && s.AdvisedFrom == s.Workers && s.Advised != s.Workers &&
		s.Range.Valid() && s.Range.Low <= s.Advised && s.Advised <= s.Range.High
}

func (l Limits) whileSaving(c Change, s Seen, now time.Time) (Change, bool) {
	switch {
	case s.Workers != c.From:
		return c.abandon(fmt.Sprintf("its number of workers was changed to %d meanwhile", s.Workers), now), true
	case s.Blocked != "":
		return c.abandon(s.Blocked, now), true
	case s.Failed != "":
		return c.abandon("the job could not save: "+s.Failed, now), true
	case s.Saved:
		c.State, c.Since = Scaling, now
		return c, true
	case now.Sub(c.Since) > l.Save:
		return c.abandon(fmt.Sprintf("the job has not saved in %s", l.Save), now), true
	}
	return c, false
}

func (l Limits) whileScaling(c Change, s Seen, now time.Time) (Change, bool) {
	switch {
	case s.Workers == c.To:
		c.State, c.Since = Changed, now
		c.Made++
		return c, true
	case s.Workers != c.From:
		return c.abandon(fmt.Sprintf("its number of workers was changed to %d meanwhile", s.Workers), now), true
	case now.Sub(c.Since) > l.Scale:
		return c.abandon(fmt.Sprintf("its owner did not take the new number in %s", l.Scale), now), true
	}
	return c, false
}

func (c Change) abandon(why string, now time.Time) Change {
	c.State, c.Why, c.Since = Abandoned, why, now
	return c
}
