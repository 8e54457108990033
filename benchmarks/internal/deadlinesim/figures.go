package deadlinesim

import (
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// The goals, in per cent, relative to the default scheduler: those that Qore-DL's paper reports against its rivals.
const moreMet, moreUsed = 42, 22

// mean is a mean with its 95 % interval.
type mean struct{ value, low, high float64 }

func meanOf(outcomes []Outcome, of func(Outcome) float64) mean {
	sum, squares, n := 0.0, 0.0, float64(len(outcomes))
	for _, o := range outcomes {
		sum += of(o)
	}
	for _, o := range outcomes {
		squares += (of(o) - sum/n) * (of(o) - sum/n)
	}
	half := 1.96 * math.Sqrt(squares/max(1, n-1)/n)
	return mean{sum / n, sum/n - half, sum/n + half}
}

// change returns the change of a mean relative to that of the baseline, in per cent. Its interval is that of a ratio of means of the
// same seeds.
func change(outcomes, baseline []Outcome, of func(Outcome) float64) mean {
	m, b := meanOf(outcomes, of).value, meanOf(baseline, of).value
	ratio, squares, n := m/b, 0.0, float64(len(outcomes))
	for i, o := range outcomes {
		rest := (of(o) - ratio*of(baseline[i])) / b
		squares += rest * rest
	}
	half := 100 * 1.96 * math.Sqrt(squares/max(1, n-1)/n)
	value := 100 * (ratio - 1)
	return mean{value, value - half, value + half}
}

func (m mean) times(factor float64) mean {
	return mean{factor * m.value, factor * m.low, factor * m.high}
}

func (m mean) goal(name, unit string) results.Goal {
	round := func(x float64) float64 { return math.Round(100*x) / 100 }
	return results.Goal{
		Name:  name,
		Value: round(m.value),
		Low:   round(m.low),
		High:  round(m.high),
		Unit:  unit,
	}
}

func (m mean) atLeast(name string, target float64) results.Goal {
	g := m.goal(name, "%")
	met := m.value >= target
	g.Target, g.Met = &target, &met
	return g
}

// Figures returns the figures of an experiment. Those of Trellis have goals if it is judged.
func Figures(e Experiment, all []Result, judged bool) []results.Goal {
	var goals []results.Goal
	baseline := all[0].Outcomes
	met := func(o Outcome) float64 { return o.Met }
	used := func(o Outcome) float64 { return o.Weighted }
	for _, r := range all {
		name := func(figure string) string {
			return fmt.Sprintf("%s, load %g, %s: %s", e.Layout.Name, e.Load, r.System, figure)
		}
		add := func(figure, unit string, factor float64, of func(Outcome) float64) {
			goals = append(goals, meanOf(r.Outcomes, of).times(factor).goal(name(figure), unit))
		}
		hasGoal := judged && (r.System == Trellis || r.System == SameAmount)
		relative := func(figure string, target float64, of func(Outcome) float64) {
			m := change(r.Outcomes, baseline, of)
			if hasGoal {
				goals = append(goals, m.atLeast(name(figure), target))
			} else if r.System != all[0].System {
				goals = append(goals, m.goal(name(figure), "%"))
			}
		}
		add("deadlines met", "%", 100, met)
		relative("change", moreMet, met)
		if r.Outcomes[0].Weighted == 0 {
			continue // each job alone
		}
		add("U", "%", 100, used)
		relative("change of U", moreUsed, used)
		add("CPU in use", "%", 100, func(o Outcome) float64 { return o.CPU })
		completion := func(o Outcome) float64 { return o.Completion }
		if r.System == idealName {
			add("completion", "min", 1.0/60, completion)
			continue
		}
		add("restarts per job", "", 1, func(o Outcome) float64 { return o.Restarts })
		if hasGoal {
			last := &goals[len(goals)-1]
			none, kept := 0.0, last.Value == 0
			last.Target, last.Met = &none, &kept
		}
		add("over 5 % later, with deadline", "%", 100, func(o Outcome) float64 { return o.Harmed })
		add("without", "%", 100, func(o Outcome) float64 { return o.HarmedFree })
		add("completion", "min", 1.0/60, completion)
		add("wait", "min", 1.0/60, func(o Outcome) float64 { return o.Wait })
		goals = append(goals, relativeDelays(e, r)...)
	}
	return goals
}

// relativeDelays returns the figures of a system relative to other systems than the baseline.
func relativeDelays(e Experiment, r Result) (goals []results.Goal) {
	for _, other := range references[r.System] {
		if _, compared := r.Outcomes[0].Against[other]; !compared {
			continue
		}
		add := func(figure, unit string, factor float64, of func(Delays) float64) {
			name := fmt.Sprintf("%s, load %g, %s, relative to %s: %s", e.Layout.Name, e.Load, r.System, other, figure)
			m := meanOf(r.Outcomes, func(o Outcome) float64 { return of(o.Against[other]) })
			goals = append(goals, m.times(factor).goal(name, unit))
		}
		add("over 5 % later, with deadline", "%", 100, func(d Delays) float64 { return d.Harmed })
		add("without", "%", 100, func(d Delays) float64 { return d.HarmedFree })
		add("over 5 % earlier", "%", 100, func(d Delays) float64 { return d.Sooner })
		add("deadlines lost", "%", 100, func(d Delays) float64 { return d.Lost })
		add("won", "%", 100, func(d Delays) float64 { return d.Won })
		add("mean delay of those over 5 % later", "min", 1.0/60, func(d Delays) float64 { return d.Mean })
		add("greatest delay of a workload", "min", 1.0/60, func(d Delays) float64 { return d.Greatest })
	}
	return goals
}
