package memoryprofile

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/peaks"
)

// Case is a predicted peak of the memory of a job, in MiB.
type Case struct {
	Kind string
	True float64
	// Seen is the largest use before the prediction; 0 before the first step.
	Seen float64
	peaks.Interval
}

// covers reports whether the peak is in the interval, as users see it.
func (c Case) covers() bool { return c.True >= math.Floor(c.Low) && c.True <= math.Ceil(c.High) }

// rises reports whether the job had not reached its peak yet.
func (c Case) rises() bool { return c.True > c.Seen }

// Result has the cases of each way to predict.
type Result struct {
	Own, OwnWithRun []Case
	Run, Described  []Case
	Twice           []Twice
}

// parts are the parts of a run after which its peak is predicted.
var parts = []float64{0.05, 0.1, 0.2, 0.5}

// Evaluate predicts the peak of each recording.
func Evaluate(all []Recording) Result {
	var result Result
	nothing := peaks.Learn(nil)
	for _, r := range all {
		result.Own = append(result.Own, r.after(nothing)...)
		if earlier, ok := earlierRun(all, r); ok {
			known := peaks.Learn([]peaks.Run{earlier})
			result.OwnWithRun = append(result.OwnWithRun, r.after(known)...)
			result.Run = append(result.Run, r.before(known)...)
		}
		result.Described = append(result.Described, r.before(peaks.Learn(otherSizes(all, r)))...)
	}
	result.Twice = twiceTheSize(all)
	return result
}

// after predicts the peak of a recording after parts of it.
func (r Recording) after(known *peaks.Knowledge) (cases []Case) {
	length := len(r.Memory) - r.Started
	for _, part := range parts {
		seen := max(1, int(part*float64(length)))
		cases = append(cases, r.predict(known, r.profile(seen), growth.Seconds(length-seen)*interval)...)
	}
	return cases
}

// before predicts the peak before the first step.
func (r Recording) before(known *peaks.Knowledge) []Case { return r.predict(known, peaks.Profile{}, 0) }

// predict returns no case if nothing is known.
func (r Recording) predict(known *peaks.Knowledge, p peaks.Profile, remaining growth.Seconds) []Case {
	prior, _ := known.Prior(r.job(), peaks.Memory)
	predicted, ok := peaks.Forecast(p, peaks.Memory, remaining, prior)
	if !ok {
		return nil
	}
	return []Case{{Kind: r.Kind, True: float64(r.peak()), Seen: peaks.Memory(p.Peak()), Interval: predicted}}
}

// earlierRun is another run of the same program at the same size, the first one that was recorded.
func earlierRun(all []Recording, of Recording) (peaks.Run, bool) {
	for _, r := range all {
		if r.Kind == of.Kind && r.Batch == of.Batch && r.Seed != of.Seed {
			return r.ended(), true
		}
	}
	return peaks.Run{}, false
}

// otherSizes are all runs but those of the same program at the same size.
func otherSizes(all []Recording, of Recording) (runs []peaks.Run) {
	for _, r := range all {
		if r.Kind != of.Kind || r.Batch != of.Batch {
			runs = append(runs, r.ended())
		}
	}
	return runs
}
