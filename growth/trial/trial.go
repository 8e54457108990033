package trial

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// window is how many looks are compared with as many.
	window = 3
	// silence is how many looks without a report a trial survives.
	maxSilent = 3
	// Tolerance is what a job may lose by it.
	Tolerance growth.Share = 0.1
)

// Phase is where a trial stands.
type Phase string

// The phases there are.
const (
	Idle        Phase = ""
	Offered     Phase = "offered"
	Trying      Phase = "trying"
	RollingBack Phase = "back"
)

// State is what is known of one job's trials. The zero value is of one that has had none. It goes over restarts.
type State struct {
	Phase Phase `json:"phase,omitempty"`
	// From and To are batch sizes, Wish the one the job is to be told; 0 for none.
	From      int `json:"from,omitempty"`
	To        int `json:"to,omitempty"`
	Requested int `json:"wish,omitempty"`
	// Before are the last looks before the trial, After those of it.
	Before Observations `json:"before,omitempty"`
	After  Observations `json:"after,omitempty"`
	// MixedSeen says that the look which is of both sizes has been, Silent counts those without a report.
	MixedSeen bool `json:"mixed,omitempty"`
	Silent    int  `json:"silent,omitempty"`
	// Above and Below bound what is offered: sizes from Above on and from Below down have made the job worse; 0 for
	// no bound.
	RejectedFrom int `json:"above,omitempty"`
	RejectedUpTo int `json:"below,omitempty"`
}

// InProgress tells that a trial is on, in which nothing else should change.
func (s State) InProgress() bool { return s.Phase == Offered || s.Phase == Trying }

// Verdict is what a look has led to.
type Verdict string

// The verdicts there are.
const (
	None       Verdict = ""
	Offering   Verdict = "offering"
	Withdrawn  Verdict = "withdrawn"
	Kept       Verdict = "kept"
	RolledBack Verdict = "rolled back"
)

// Next takes a look. advised is the size that is wished for, 0 for none; better the way the metric improves. reason is a
// sentence for people.
func (s State) Next(l Observation, advised int, better growth.Direction) (next State, verdict Verdict, reason string) {
	switch s.Phase {
	case Offered:
		return s.whileOffered(l, advised)
	case Trying:
		return s.whileTrying(l, better)
	case RollingBack:
		if l.Reported && l.Batch == s.From {
			s.Phase = Idle
		}
		return s, None, ""
	}
	if l.Restarted || l.Reported {
		s.Before = s.Before.push(l)
	}
	if advised <= 0 || l.Batch <= 0 || advised == l.Batch || s.rejected(advised) || !s.Before.sufficient() {
		return s, None, ""
	}
	s.Phase, s.From, s.To, s.Requested = Offered, l.Batch, advised, advised
	return s, Offering, fmt.Sprintf("batch size %d is offered in place of %d", s.To, s.From)
}

func (s State) rejected(size int) bool {
	return (s.RejectedFrom > 0 && size >= s.RejectedFrom) || (s.RejectedUpTo > 0 && size <= s.RejectedUpTo)
}

func (s State) whileOffered(l Observation, advised int) (State, Verdict, string) {
	switch {
	case l.Restarted:
		return s.rollBack("the job has restarted")
	case l.Reported && l.Batch == s.To:
		s.Phase, s.After, s.MixedSeen, s.Silent = Trying, nil, false, 0
	case advised != s.To:
		s.Phase, s.Requested = Idle, s.From
		return s, Withdrawn, fmt.Sprintf("batch size %d is not advised any more", s.To)
	}
	return s, None, ""
}

func (s State) whileTrying(l Observation, better growth.Direction) (State, Verdict, string) {
	switch {
	case l.Restarted:
		return s.rollBack("the job has restarted")
	case !l.Reported:
		if s.Silent++; s.Silent >= maxSilent {
			return s.rollBack("the job reports nothing any more")
		}
		return s, None, ""
	case l.Batch != s.To: // its own will
		s.Phase, s.Requested, s.Before, s.After = Idle, 0, Observations{l}, nil
		return s, Withdrawn, fmt.Sprintf("the job has gone on to batch size %d by itself", l.Batch)
	case !s.MixedSeen:
		s.MixedSeen, s.Silent = true, 0
		return s, None, ""
	}
	s.Silent = 0
	if s.After = append(append(Observations{}, s.After...), l); len(s.After) < window {
		return s, None, ""
	}
	if why := whyWorse(s.Before, s.After, better); why != "" {
		return s.rollBack(why)
	}
	was, is := s.Before.meanRate(), s.After.meanRate()
	s.Phase, s.Before, s.After = Idle, s.After, nil
	return s, Kept, fmt.Sprintf("batch size %d stays: %.1f samples/s, with %d %.1f", s.To, float64(is), s.From, float64(was))
}

// back gives up, for good.
func (s State) rollBack(why string) (State, Verdict, string) {
	if s.To > s.From {
		s.RejectedFrom = s.To
	} else {
		s.RejectedUpTo = s.To
	}
	s.Phase, s.Requested, s.Before, s.After = RollingBack, s.From, nil, nil
	return s, RolledBack, fmt.Sprintf("batch size %d goes back to %d, and is not tried again: %s", s.To, s.From, why)
}
