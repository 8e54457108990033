package results

import (
	"fmt"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// Summary is summary.json, in the form that all of Trellis' benchmarks share.
type Summary struct {
	Name    string    `json:"name"`
	Quick   bool      `json:"quick,omitempty"`
	Commit  string    `json:"commit"`
	Date    time.Time `json:"date"`
	Machine Machine   `json:"machine"`
	Seeds   []uint32  `json:"seeds"`
	Command string    `json:"command"`
	Goals   []Goal    `json:"goals"`
	Kinds   []Kind    `json:"kinds"`
	// Phases are the seconds that the parts of the benchmark took.
	Phases []Phase `json:"phases"`
}

// Goal is one figure. Low and High are the range over repetitions, which here are one. A figure without a target is told,
// not judged.
type Goal struct {
	Name   string   `json:"name"`
	Value  float64  `json:"value"`
	Low    float64  `json:"low"`
	High   float64  `json:"high"`
	Unit   string   `json:"unit"`
	Target *float64 `json:"target"`
	Met    *bool    `json:"met"`
}

// Kind is what was seen of one kind of job.
type Kind struct {
	Kind            string `json:"kind"`
	ShareChanges    int    `json:"shareChanges"`
	LoaderChanges   int    `json:"loaderChanges"`
	CategoryChanges int    `json:"categoryChanges"`
}

// Phase is a part of the benchmark and how long it took.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Took adds a phase.
func (s *Summary) Took(name string, d time.Duration) {
	s.Phases = append(s.Phases, Phase{Name: name, Seconds: math.Round(d.Seconds()*10) / 10})
}

// Conclude fills goals and kinds from a run, and from another one under the baseline policy if there is one.
func (s *Summary) Conclude(jobs workload.Workload, run, other *timeline.Timeline) {
	s.Goals = append(s.Goals, finished("jobs finished", jobs, run))
	shares, loaders, categories := 0, 0, 0
	for _, kind := range jobs.Kinds() {
		seen := run.Count(kind)
		s.Kinds = append(s.Kinds, Kind{kind, seen.Shares, seen.Loaders, seen.Categories})
		shares += min(seen.Shares, 1)
		loaders += min(seen.Loaders, 1)
		categories += min(seen.Categories, 1)
	}
	kinds := float64(len(jobs.Kinds()))
	s.Goals = append(s.Goals,
		atLeast("kinds of job with a change of CPU share", float64(shares), kinds, "kinds"),
		atLeast("kinds of job with a change of loaders", float64(loaders), kinds, "kinds"),
		atLeast("kinds of job with a change of category", float64(categories), kinds, "kinds"),
		told("makespan", run.Makespan().Seconds(), "s"),
	)
	if other == nil {
		return
	}
	differences, mean := run.Against(other)
	worst := 0.0
	for _, d := range differences {
		worst = max(worst, d.Relative())
	}
	s.Goals = append(s.Goals,
		finished("jobs finished under "+other.Name, jobs, other),
		told("makespan under "+other.Name, other.Makespan().Seconds(), "s"),
		atMost("mean completion against "+other.Name, 100*mean.Relative(), 0, "%"),
		told("most delayed job against "+other.Name, 100*worst, "%"),
	)
}

// Failures says what keeps a run from being a success; nil for one that is.
func Failures(run *timeline.Timeline) error {
	var broken []string
	for _, j := range run.Last().Jobs {
		if j.State != timeline.Finished {
			broken = append(broken, fmt.Sprintf("%s is %s", j.Name, j.State))
		}
	}
	if len(broken) == 0 && len(run.Readings) > 0 {
		return nil
	}
	return fmt.Errorf("under %s, %d of %d jobs did not finish: %v", run.Name, len(broken), len(run.Last().Jobs), broken)
}

func finished(name string, jobs workload.Workload, run *timeline.Timeline) Goal {
	n := 0
	for _, j := range run.Last().Jobs {
		if j.State == timeline.Finished {
			n++
		}
	}
	return atLeast(name, float64(n), float64(len(jobs)), "jobs")
}

func told(name string, value float64, unit string) Goal {
	value = math.Round(value*100) / 100
	return Goal{Name: name, Value: value, Low: value, High: value, Unit: unit}
}

func atLeast(name string, value, target float64, unit string) Goal {
	g, met := told(name, value, unit), value >= target
	g.Target, g.Met = &target, &met
	return g
}

func atMost(name string, value, target float64, unit string) Goal {
	g, met := told(name, value, unit), value <= target
	g.Target, g.Met = &target, &met
	return g
}
