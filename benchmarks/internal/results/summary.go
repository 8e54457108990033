package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/chaos"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

// Summary is the content of summary.json, which all benchmarks share.
type Summary struct {
	Name    string    `json:"name"`
	Quick   bool      `json:"quick,omitempty"`
	Commit  string    `json:"commit"`
	Date    time.Time `json:"date"`
	Machine Machine   `json:"machine"`
	Seeds   []uint32  `json:"seeds"`
	Command string    `json:"command"`
	// Settings are the settings that the figures depend on. A key names a program and a setting, such as "coordinator
	// --interval", or a setting of the benchmark, such as "rounds".
	Settings map[string]string `json:"settings,omitempty"`
	// Stretch is the factor by which the jobs' steps were scaled to the speed of this machine.
	Stretch float64 `json:"stretch,omitempty"`
	Goals   []Goal  `json:"goals"`
	Kinds   []Kind  `json:"kinds,omitempty"`
	// Kills lists each kill -9 and its recovery. ChaosSeed determined their order and times.
	Kills     []Kill `json:"kills,omitempty"`
	ChaosSeed uint64 `json:"chaosSeed,omitempty"`
	// Phases lists the duration of each part of the benchmark.
	Phases []Phase `json:"phases"`
	// Details has the benchmark's own data.
	Details any `json:"details,omitempty"`

	// file is the name of a published summary's file.
	file string
}

// Goal is one figure: the median over the rounds, with their range in Low and High. A figure without a target is
// informational.
type Goal struct {
	Name string `json:"name"`
	// Phase is the part of the benchmark that measured it, if that is recorded.
	Phase  string   `json:"phase,omitempty"`
	Value  float64  `json:"value"`
	Low    float64  `json:"low"`
	High   float64  `json:"high"`
	Unit   string   `json:"unit"`
	Target *float64 `json:"target"`
	Met    *bool    `json:"met"`

	// exact is Value before rounding. Targets are compared with it.
	exact float64
}

// Kind counts the changes of one kind of job.
type Kind struct {
	Kind            string `json:"kind"`
	ShareChanges    int    `json:"shareChanges"`
	GPUShareChanges int    `json:"gpuShareChanges,omitempty"`
	LoaderChanges   int    `json:"loaderChanges"`
	CategoryChanges int    `json:"categoryChanges"`
}

// Kill is a kill -9 of every process of one binary of Trellis, At seconds after the start of the run. BackAfter is
// nil if the binary did not come back.
type Kill struct {
	Binary    string   `json:"binary"`
	At        float64  `json:"at"`
	Processes int      `json:"processes"`
	BackAfter *float64 `json:"backAfter"`
	Restarts  int      `json:"restarts"`
}

// Phase is a part of the benchmark. Commit is the one at which it was measured, if parts were measured at several.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Commit  string  `json:"commit,omitempty"`
}

// Took adds a phase.
func (s *Summary) Took(name string, d time.Duration) {
	s.Phases = append(s.Phases, Phase{Name: name, Seconds: math.Round(d.Seconds()*10) / 10})
}

// Round is one run of the workload under the policy and, in a comparison, a second one under the other policy.
type Round struct {
	Run, Other *timeline.Timeline
	// Killed lists the binaries that were killed during Run.
	Killed []chaos.Outcome
}

// Conclude fills goals, kinds and kills from rounds of the same workload.
func (s *Summary) Conclude(jobs workload.Workload, rounds ...Round) {
	runs := pick(rounds, func(r Round) *timeline.Timeline { return r.Run })
	s.Goals = append(s.Goals, finished("jobs finished", jobs, runs))
	s.kinds(jobs, runs[0])
	kinds := float64(len(jobs.Kinds()))
	for _, aspect := range []timeline.Aspect{timeline.ShareChange, timeline.LoaderChange, timeline.CategoryChange} {
		changed := over(runs, func(run *timeline.Timeline) float64 { return kinds - float64(len(lacking(jobs, run, aspect))) })
		s.Goals = append(s.Goals, changed.goal("kinds of job with a change of "+aspectName(aspect), "kinds").atLeast(kinds))
	}
	s.Goals = append(s.Goals, over(runs, makespan).goal("makespan", "s"))
	s.killed(rounds)
	if compared := compared(rounds); len(compared) > 0 {
		s.against(jobs, compared)
	}
}

func (s *Summary) kinds(jobs workload.Workload, run *timeline.Timeline) {
	for _, kind := range jobs.Kinds() {
		seen := run.Count(kind)
		s.Kinds = append(s.Kinds, Kind{kind, seen.Shares, seen.GPUShares, seen.Loaders, seen.Categories})
	}
}

func (s *Summary) killed(rounds []Round) {
	back, slowest := 0, time.Duration(0)
	for _, round := range rounds {
		for _, o := range round.Killed {
			kill := Kill{Binary: o.Binary, At: rounded(o.Struck.Seconds()), Processes: len(o.Killed), Restarts: o.Restarts}
			if o.Back > 0 {
				after := rounded(o.Absence().Seconds())
				kill.BackAfter, back, slowest = &after, back+1, max(slowest, o.Absence())
			}
			s.Kills = append(s.Kills, kill)
		}
	}
	if len(s.Kills) > 0 {
		s.Goals = append(s.Goals,
			once(float64(back)).goal("binaries back after kill -9", "binaries").atLeast(float64(len(chaos.Binaries()))),
			once(slowest.Seconds()).goal("slowest return after kill -9", "s"))
	}
}

// against compares the rounds with those under the other policy.
func (s *Summary) against(jobs workload.Workload, rounds []Round) {
	others := pick(rounds, func(r Round) *timeline.Timeline { return r.Other })
	name := " against " + others[0].Name
	s.Goals = append(s.Goals, finished("jobs finished under "+others[0].Name, jobs, others))
	rounds = slices.DeleteFunc(slices.Clone(rounds), func(r Round) bool { return !Compare(r).Known() })
	if len(rounds) == 0 {
		return // the run was cut off: no comparison is not a difference of 0 %
	}
	others = pick(rounds, func(r Round) *timeline.Timeline { return r.Other })
	percent := func(of func(Comparison) timeline.Difference) spread {
		return over(rounds, func(r Round) float64 { return 100 * of(Compare(r)).Relative() })
	}
	s.Goals = append(s.Goals,
		over(others, makespan).goal("makespan under "+others[0].Name, "s"),
		percent(func(c Comparison) timeline.Difference { return c.Mean }).goal("mean completion"+name, "%").atMost(0),
		percent(func(c Comparison) timeline.Difference { return c.Best }).goal("best job"+name, "%"),
		percent(func(c Comparison) timeline.Difference { return c.Worst }).goal("worst job"+name, "%"),
		percent(func(c Comparison) timeline.Difference { return c.Makespan }).goal("makespan"+name, "%"),
	)
	if !slices.ContainsFunc(rounds, func(r Round) bool { return !Compare(r).Target.Known() }) {
		s.Goals = append(s.Goals, percent(func(c Comparison) timeline.Difference { return c.Target }).goal("mean time to 95 % of the metric"+name, "%"))
	}
}

// Failures returns an error that lists the jobs that did not finish, or nil.
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

// Missed returns an error that lists the kinds of job without a change of some aspect, or nil.
func Missed(jobs workload.Workload, run *timeline.Timeline) error {
	var missing []string
	for _, aspect := range []timeline.Aspect{timeline.ShareChange, timeline.LoaderChange, timeline.CategoryChange} {
		if kinds := lacking(jobs, run, aspect); len(kinds) > 0 {
			missing = append(missing, fmt.Sprintf("no change of %s for %s", aspectName(aspect), strings.Join(kinds, ", ")))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("under %s, every kind of job should have seen a change of each sort, but there was %s", run.Name, strings.Join(missing, "; "))
}

// lacking lists the kinds of job without a change of one aspect. A change of the GPU share counts as a change of the CPU share:
// jobs that compute on GPUs compete for those.
func lacking(jobs workload.Workload, run *timeline.Timeline, aspect timeline.Aspect) []string {
	return slices.DeleteFunc(jobs.Kinds(), func(kind string) bool {
		seen := run.Count(kind)
		return seen.Of(aspect) > 0 || aspect == timeline.ShareChange && seen.Of(timeline.GPUShareChange) > 0
	})
}

func aspectName(aspect timeline.Aspect) string {
	if aspect == timeline.ShareChange {
		return "CPU or GPU share"
	}
	return string(aspect)
}

func finished(name string, jobs workload.Workload, runs []*timeline.Timeline) Goal {
	return over(runs, func(run *timeline.Timeline) float64 {
		n := 0
		for _, j := range run.Last().Jobs {
			if j.State == timeline.Finished {
				n++
			}
		}
		return float64(n)
	}).goal(name, "jobs").atLeast(float64(len(jobs)))
}

func makespan(run *timeline.Timeline) float64 { return run.Makespan().Seconds() }
