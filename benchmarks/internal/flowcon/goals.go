package flowcon

import (
	"maps"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// target is the upper limit of a figure, in the schedule of ten jobs.
type target struct {
	variant, figure string
	atMost          float64
}

// judged is the schedule that has targets.
const judged = "10 random"

// The figures are changes in per cent relative to fair sharing. Only targetJobs is a count: the jobs in meanTarget, which
// leaves out jobs with too few reports.
const (
	meanCompletion = "mean completion"
	meanTarget     = "mean time to 95 % of the metric"
	targetJobs     = "jobs with a time to 95 %"
	bestJob        = "best job"
	worstJob       = "worst job"
	makespan       = "makespan"
)

func figures() []string {
	return []string{meanCompletion, meanTarget, targetJobs, bestJob, worstJob, makespan}
}

func unit(figure string) string {
	if figure == targetJobs {
		return "jobs"
	}
	return "%"
}

// targets returns the targets of the records. Those of jobs on a GPU have only the bound on harm.
func targets(records []Record) []target {
	harm := target{"harmless", worstJob, 5}
	if slices.ContainsFunc(records, func(r Record) bool { return r.OnGPU }) {
		return []target{harm}
	}
	return []target{
		{"harmless", meanCompletion, -32}, {"harmless", meanTarget, -25}, {"harmless", bestJob, -80}, harm, {"harmless", makespan, 1},
		{"harmless:finish", meanCompletion, -40}, {"harmless:growth", meanTarget, -50},
	}
}

// rival is the policy that harmless is compared with: it must not be worse in any figure, in the schedule of ten jobs.
const rival = "flowcon"

// Goals compares each policy with the baseline, repeat by repeat, and harmless with FlowCon.
func Goals(records []Record) []results.Goal {
	var goals []results.Goal
	limits := targets(records)
	for _, schedule := range distinct(records, func(r Record) string { return r.Schedule }) {
		for _, variant := range distinct(records, func(r Record) string { return r.Policy }) {
			if variant == Baseline {
				continue
			}
			for _, figure := range figures() {
				if values := compared(records, schedule, variant, figure); len(values) > 0 {
					goal := results.Measured(schedule+", "+variant+": "+figure, unit(figure), slices.Collect(maps.Values(values)))
					goals = append(goals, judge(goal, limits, schedule, variant, figure))
				}
			}
		}
	}
	goals = append(goals, difference(records, "harmless", rival, 0)...)
	return append(goals, difference(records, "harmless"+taughtElsewhere, "harmless"+taughtHere, taughtLoss)...)
}

func judge(goal results.Goal, limits []target, schedule, variant, figure string) results.Goal {
	for _, t := range limits {
		if schedule == judged && t.variant == variant && t.figure == figure {
			return goal.AtMost(t.atMost)
		}
	}
	return goal
}

// taughtLoss is how much less a node may gain by what another node has seen than by what it has seen itself, in points.
const taughtLoss = 3

// difference returns the differences between the figures of two variants, which must not exceed a limit.
func difference(records []Record, ours, theirs string, most float64) []results.Goal {
	var goals []results.Goal
	for _, figure := range figures() {
		if figure == targetJobs {
			continue
		}
		our, their := compared(records, judged, ours, figure), compared(records, judged, theirs, figure)
		var apart []float64
		for repeat, value := range our {
			if other, played := their[repeat]; played {
				apart = append(apart, value-other)
			}
		}
		if len(apart) > 0 {
			goals = append(goals, results.Measured(judged+", "+ours+" less "+theirs+": "+figure, "points", apart).AtMost(most))
		}
	}
	return goals
}

// compared returns a figure relative to the baseline, by repeat. It covers repeats that the baseline ran in the same boot
// of the machine.
func compared(records []Record, schedule, variant, figure string) map[int]float64 {
	values := map[int]float64{}
	for _, r := range records {
		if r.Schedule != schedule || r.Policy != variant {
			continue
		}
		at := slices.IndexFunc(records, func(b Record) bool {
			return b.Schedule == schedule && b.Policy == Baseline && b.Repeat == r.Repeat && b.Boot == r.Boot
		})
		if at < 0 {
			continue
		}
		if value := against(r, records[at])[figure]; !math.IsNaN(value) {
			values[r.Repeat] = value
		}
	}
	return values
}

// against returns each figure of a record relative to the baseline's; NaN for no comparison.
func against(r, base Record) map[string]float64 {
	var ours, theirs, oursTarget, theirsTarget, reached float64
	best, worst := math.NaN(), math.NaN()
	for _, j := range r.Jobs {
		at := slices.IndexFunc(base.Jobs, func(b Job) bool { return b.Name == j.Name })
		if at < 0 {
			continue
		}
		b := base.Jobs[at]
		ours, theirs = ours+j.Completion, theirs+b.Completion
		if j.Target > 0 && b.Target > 0 {
			oursTarget, theirsTarget, reached = oursTarget+j.Target, theirsTarget+b.Target, reached+1
		}
		change := percent(j.Completion, b.Completion)
		if math.IsNaN(best) || change < best {
			best = change
		}
		if math.IsNaN(worst) || change > worst {
			worst = change
		}
	}
	return map[string]float64{
		meanCompletion: percent(ours, theirs), meanTarget: percent(oursTarget, theirsTarget), targetJobs: reached, bestJob: best, worstJob: worst,
		makespan: percent(r.Makespan, base.Makespan),
	}
}

func percent(ours, theirs float64) float64 {
	if theirs == 0 {
		return math.NaN()
	}
	return 100 * (ours - theirs) / theirs
}

// distinct lists the values of the records, in order of first appearance.
func distinct(records []Record, of func(Record) string) []string {
	var all []string
	for _, r := range records {
		if value := of(r); !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	return all
}
