package trial

import (
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// window is the number of observations in the baseline, and of those that are compared with it.
	window = 3
	// maxSilent is the number of consecutive observations without a report that end a trial. Evaluations and saves are silent too.
	maxSilent = 12
	// Tolerance is the relative loss that a job may have.
	Tolerance growth.Share = 0.1
)

// Phase is the phase of a trial.
type Phase string

// Phases of a trial.
const (
	Idle        Phase = ""
	Offered     Phase = "offered"
	Trying      Phase = "trying"
	RollingBack Phase = "back"
)

// State is the state of a job's trials. The zero value is a job without trials. A State survives a restart as JSON.
type State struct {
	Phase Phase `json:"phase,omitempty"`
	// From and To are the batch sizes of the last trial.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
	// Requested is the batch size that the job is configured with; 0 for the job's own choice.
	Requested int `json:"wish,omitempty"`
	// Before is the baseline, After has the observations of the trial.
	Before Observations `json:"before,omitempty"`
	After  Observations `json:"after,omitempty"`
	// MixedSeen is set once the observation that mixes both sizes has been skipped.
	MixedSeen bool `json:"mixed,omitempty"`
	// Silent counts consecutive observations without a report.
	Silent int `json:"silent,omitempty"`
	// RejectedFrom and RejectedUpTo bound the sizes that are offered. Sizes from RejectedFrom upwards and from
	// RejectedUpTo downwards made the job worse; 0 means no bound.
	RejectedFrom int `json:"above,omitempty"`
	RejectedUpTo int `json:"below,omitempty"`
}

// InProgress reports whether the job tries a size. Nothing else should change meanwhile. An offered size may not be taken for hours.
func (s State) InProgress() bool { return s.Phase == Trying }

// Verdict is the result of an observation.
type Verdict string

// Verdicts of an observation.
const (
	None       Verdict = ""
	Offering   Verdict = "offering"
	Withdrawn  Verdict = "withdrawn"
	Kept       Verdict = "kept"
	RolledBack Verdict = "rolled back"
)

// Next returns the state after an observation. advised is the advised batch size, 0 for none. direction is the
// direction in which the metric improves. reason explains the verdict to the user.
func (s State) Next(
	o Observation, advised int, direction growth.Direction,
) (next State, verdict Verdict, reason string) {
	switch s.Phase {
	case Offered:
		return s.whileOffered(o, advised)
	case Trying:
		return s.whileTrying(o, direction)
	case RollingBack:
		if o.Reported && o.Batch == s.From {
			s.Phase = Idle
		}
		return s, None, ""
	}
	if o.Restarted || o.Reported {
		s.Before = s.Before.push(o)
	}
	if advised <= 0 || o.Batch <= 0 || advised == o.Batch || s.rejected(advised) || !s.Before.sufficient() {
		return s, None, ""
	}
	s.Phase = Offered
	s.From, s.To = o.Batch, advised
	s.Requested = advised
	return s, Offering, fmt.Sprintf("batch size %d is offered in place of %d", s.To, s.From)
}

func (s State) rejected(size int) bool {
	return (s.RejectedFrom > 0 && size >= s.RejectedFrom) || (s.RejectedUpTo > 0 && size <= s.RejectedUpTo)
}

func (s State) whileOffered(o Observation, advised int) (State, Verdict, string) {
	switch {
	case o.Restarted:
		return s.rollBack("the job has restarted")
	case o.Reported && o.Batch == s.To:
		s.Phase = Trying
		s.After = nil
		s.MixedSeen = false
		s.Silent = 0
	case advised != s.To:
		s.Phase = Idle
		s.Requested = s.From
		return s, Withdrawn, fmt.Sprintf("batch size %d is no longer advised", s.To)
	case o.Reported && o.Batch == s.From:
		s.Before = s.Before.push(o)
	}
	return s, None, ""
}

func (s State) whileTrying(o Observation, direction growth.Direction) (State, Verdict, string) {
	switch {
	case o.Restarted:
		return s.rollBack("the job has restarted")
	case o.Paused:
		return s, None, ""
	case !o.Reported:
		s.Silent++
		if s.Silent >= maxSilent {
			return s.goBack(", and may be tried again: the job no longer reports anything")
		}
		return s, None, ""
	case o.Batch != s.To: // the job chose another size
		s.Phase = Idle
		s.Requested = 0
		s.Before, s.After = Observations{o}, nil
		return s, Withdrawn, fmt.Sprintf("the job changed to batch size %d by itself", o.Batch)
	case !s.MixedSeen:
		s.MixedSeen = true
		s.Silent = 0
		return s, None, ""
	}
	s.Silent = 0
	s.After = append(append(Observations{}, s.After...), o)
	if len(s.After) < window {
		return s, None, ""
	}
	switch why := whyWorse(s.Before, s.After, direction); {
	case why != "" && s.onlyTheSizeChanged():
		return s.rollBack(why)
	case why != "":
		return s.goBack(fmt.Sprintf(", and may be tried again, because more than the size has changed: %s", why))
	}
	before, after := s.Before.meanRate(), s.After.meanRate()
	s.Phase = Idle
	s.Before, s.After = s.After, nil
	return s, Kept, fmt.Sprintf("batch size %d stays: %.1f %s, %.1f with %d",
		s.To, float64(after), s.Before.unit(), float64(before), s.From)
}

// Moved returns the state of a job that starts again elsewhere, which says nothing about the size that it tried.
func (s State) Moved() State {
	if s.Phase != Idle {
		s.Phase, s.Requested = Idle, s.From
	}
	s.Before, s.After = nil, nil
	return s
}

// rollBack ends the trial and excludes the size from further trials.
func (s State) rollBack(why string) (State, Verdict, string) {
	if s.To > s.From {
		s.RejectedFrom = s.To
	} else {
		s.RejectedUpTo = s.To
	}
	return s.goBack(", and is not tried again: " + why)
}

// goBack ends the trial.
func (s State) goBack(why string) (State, Verdict, string) {
	s.Phase = RollingBack
	s.Requested = s.From
	s.Before, s.After = nil, nil
	return s, RolledBack, fmt.Sprintf("batch size %d goes back to %d%s", s.To, s.From, why)
}

// onlyTheSizeChanged reports whether the trial says something about the size: the baseline is complete, and the loaders stayed the same.
func (s State) onlyTheSizeChanged() bool {
	return len(s.Before) == window && !slices.ContainsFunc(s.After, func(o Observation) bool { return o.Loaders != s.Before[0].Loaders })
}
