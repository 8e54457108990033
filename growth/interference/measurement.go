package interference

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// MinSet is the least number of jobs in a measured set.
	MinSet = 2
	// MaxSet is the largest number of jobs in a measured set.
	MaxSet = 8
	// MaxSpeed is the largest valid speed. Jobs do not help one another, so speeds above 1 are noise.
	MaxSpeed = 1.5
	// maxSeconds is a year: no set is measured for longer.
	maxSeconds = 366 * 24 * 3600
)

// Measurement has the speeds of a set of jobs that computed on one GPU at the same time. The order of the set has no
// meaning. Two members may have the same kind.
type Measurement struct {
	Set []Member `json:"set"`
	// Seconds is the time in which the set was measured.
	Seconds growth.Seconds `json:"seconds"`
}

// Member is a job of a set.
type Member struct {
	Kind Kind `json:"kind,omitempty"`
	// Activity is the fraction of a step in which the job uses the GPU when it holds it alone; 0 if it is unknown.
	Activity growth.Share `json:"activity,omitempty"`
	// Speed is the job's speed in the set, relative to its speed alone: 0 < Speed ≤ MaxSpeed. A prediction ignores it.
	Speed float64 `json:"speed,omitempty"`
	// Deviation is the standard deviation of Speed in this measurement; 0 if it is unknown.
	Deviation float64 `json:"deviation,omitempty"`
}

// ActivityOf returns the activity of a job by the time of its steps and the part of it in which the job waits for data.
// Without a step time it is 0, unknown. A job that waits all the time has the least activity that is known.
func ActivityOf(step, load growth.Seconds) growth.Share {
	if step <= 0 {
		return 0
	}
	return growth.Share(min(1, max(minActivity, 1-load/step)))
}

// Validate returns an error that names the first invalid part.
func (m Measurement) Validate() error {
	if len(m.Set) < MinSet || len(m.Set) > MaxSet {
		return fmt.Errorf("a set of %d jobs: %d to %d are valid", len(m.Set), MinSet, MaxSet)
	}
	if !(m.Seconds > 0 && m.Seconds <= maxSeconds) {
		return fmt.Errorf("%g seconds of measurement: give more than 0, and at most a year", float64(m.Seconds))
	}
	for i, member := range m.Set {
		if err := member.validate(); err != nil {
			return fmt.Errorf("job %d of %d: %w", i+1, len(m.Set), err)
		}
	}
	return nil
}

func (m Member) validate() error {
	switch {
	case !m.Kind.Valid():
		return fmt.Errorf("kind %.40q: give %d hexadecimal digits, or nothing", string(m.Kind), kindDigits)
	case !(m.Activity >= 0 && m.Activity <= 1):
		return fmt.Errorf("activity %g: give 0 to 1", float64(m.Activity))
	case !(m.Speed > 0 && m.Speed <= MaxSpeed):
		return fmt.Errorf("speed %g: give more than 0, and at most %g", m.Speed, MaxSpeed)
	case !(m.Deviation >= 0 && m.Deviation <= MaxSpeed):
		return fmt.Errorf("deviation %g: give 0 to %g", m.Deviation, MaxSpeed)
	}
	return nil
}
